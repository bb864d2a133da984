/* SPDX-License-Identifier: BSD-3-Clause */
/* Hashes: bytes that differ anywhere, in length or in how they are cut have different ones. */
#include "support.h"

#include "base/hash.h"

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void test_bytes_are_told_apart(void **state)
{
    enum { BYTES = 67, ALL = BYTES + 1 + 8 * BYTES };
    unsigned char bytes[BYTES] = {0};
    uint64_t hashes[ALL];
    int64_t count = 0;
    (void)state;
    for (int64_t length = 0; length <= BYTES; length++) /* zeroes of every length */
        hashes[count++] = mrc_hash(0, bytes, length);
    for (int i = 0; i < BYTES; i++) /* and each bit of them */
        for (int bit = 0; bit < 8; bit++) {
            bytes[i] = (unsigned char)(1 << bit);
            hashes[count++] = mrc_hash(0, bytes, BYTES);
            bytes[i] = 0;
        }
    assert_int_equal(count, ALL);
    qsort(hashes, ALL, sizeof *hashes, compare);
    for (int i = 1; i < ALL; i++)
        assert_true(hashes[i - 1] != hashes[i]);
}

static void test_pieces_are_told_apart(void **state)
{
    (void)state;
    const uint64_t whole = mrc_hash(0, "abcdefgh", 8);
    assert_true(whole == mrc_hash(0, "abcdefgh", 8));
    assert_true(whole != mrc_hash(mrc_hash(0, "abcd", 4), "efgh", 4));
    assert_true(mrc_hash(mrc_hash(0, "a", 1), "b", 1) != mrc_hash(mrc_hash(0, "b", 1), "a", 1));
    assert_true(mrc_hash_text(7, NULL) != mrc_hash_text(7, ""));
    assert_true(mrc_hash_text(mrc_hash_text(0, "ab"), "c") !=
                mrc_hash_text(mrc_hash_text(0, "a"), "bc"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_are_told_apart),
        cmocka_unit_test(test_pieces_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
