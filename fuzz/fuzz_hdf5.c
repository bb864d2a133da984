/* Any bytes as an HDF5 file; the first byte chooses columns and block size. */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mercer_read_options options;
    if (size == 0)
        return 0;
    mercer_read_options_init(&options);
    options.format = "hdf5";
    options.label = data[0] & 1 ? "1" : NULL;
    options.target = (data[0] & 3) == 2 ? "2" : NULL;
    fuzz_compare(&options, fuzz_file(data + 1, size - 1), NULL, 0, 1 + (data[0] >> 3));
    return 0;
}
