# SPDX-License-Identifier: BSD-3-Clause
"""Reuters-21578: from the SGML files to weighted terms in LIBSVM text. Standard library only.

ModApte split, title and body, lower-case alphabetic words of two letters or more without function words,
Porter's stems, those in three training documents or more; (1 + ln tf) ln(n / df), rows of length 1.
"""
import collections
import html
import math
import re
import tarfile

TOPICS = {"acq", "money-fx", "interest", "trade", "crude", "grain"}
FUNCTION_WORDS = set("""
about above after again against all also am an and any are as at be because been before being below between both
but by can cannot could did do does doing down during each few for from further had has have having he her here
hers herself him himself his how if in into is it its itself just me more most must my myself no nor not now of off
on once only or other our ours ourselves out over same shall she should so some such than that the their theirs
them themselves then there these they this those through to too under until up upon very was we were what when
where which while who whom why will with within without would yet you your yours yourself yourselves""".split())

SECOND = ("ational ate tional tion enci ence anci ance izer ize bli ble alli al entli ent eli e ousli ous ization ize "
          "ation ate ator ate alism al iveness ive fulness ful ousness ous aliti al iviti ive biliti ble logi log")
THIRD = "icate ic ative - alize al iciti ic ical ic ful - ness -"
FOURTH = "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize"


def _pairs(text):
    words = ["" if word == "-" else word for word in text.split()]
    return sorted(zip(words[::2], words[1::2]), key=lambda pair: -len(pair[0]))


SECOND, THIRD = _pairs(SECOND), _pairs(THIRD)
FOURTH = [(ending, "") for ending in sorted(FOURTH.split(), key=lambda ending: -len(ending))]


def _shape(word):
    """c or v for each letter; y is a vowel after a consonant."""
    shape = ""
    for letter in word:
        shape += "v" if letter in "aeiou" or (letter == "y" and shape.endswith("c")) else "c"
    return shape


def _measure(word):
    """How often a consonant follows a vowel."""
    return _shape(word).count("vc")


def _short(word):
    """Ends in consonant, vowel, consonant, the last not w, x or y."""
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"


def _replace(word, pairs, above):
    """The longest ending there is decides; it is replaced where the measure of the rest is large enough."""
    for ending, new in pairs:
        if word.endswith(ending):
            rest = word[:-len(ending)]
            if _measure(rest) > above and (ending != "ion" or rest[-1:] in ("s", "t")):
                return rest + new
            return word
    return word


def stem(word):
    """Porter's stem of a word in lower case, with the author's later bli and logi."""
    if len(word) < 3:
        return word
    if word.endswith(("sses", "ies")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    rest = word[:-3] if word.endswith(("eed", "ing")) else word[:-2] if word.endswith("ed") else ""
    if word.endswith("eed"):
        word = word[:-1] if _measure(rest) > 0 else word
    elif "v" in _shape(rest):
        word = rest
        if word.endswith(("at", "bl", "iz")) or (_measure(word) == 1 and _short(word)):
            word += "e"
        elif word[-1:] == word[-2:-1] and word[-1] not in "lsz" and _shape(word)[-1] == "c":
            word = word[:-1]
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    word = _replace(_replace(_replace(word, SECOND, 0), THIRD, 0), FOURTH, 1)
    if word.endswith("e") and (_measure(word[:-1]) > 1 or (_measure(word[:-1]) == 1 and not _short(word[:-1]))):
        word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def documents(text):
    """(number, part, topics, words) of the documents of one SGML file that belong to the split."""
    for head, body in re.findall(r"<REUTERS ([^>]*)>(.*?)</REUTERS>", text, re.S):
        said = dict(re.findall(r'(\w+)="([^"]*)"', head))
        part = said["LEWISSPLIT"].lower()
        if said["TOPICS"] != "YES" or part not in ("train", "test"):
            continue
        topics = re.findall(r"<D>(.*?)</D>", re.search(r"<TOPICS>(.*?)</TOPICS>", body, re.S)[1])
        whole = re.search(r"<TEXT([^>]*)>(.*?)</TEXT>", body, re.S)
        fields = [whole[2]] if "UNPROC" in whole[1] else re.findall(r"<(?:TITLE|BODY)>(.*?)</(?:TITLE|BODY)>", whole[2], re.S)
        content = re.sub(r"\n\s*reuter\s*$", "", html.unescape("\n".join(fields)).replace("\x03", "").lower())
        words = [word for word in re.findall(r"[^\W_]+", content) if re.fullmatch("[a-z]{2,}", word)]
        yield int(said["NEWID"]), part, topics, [stem(word) for word in words if word not in FUNCTION_WORDS]


def vectors(found):
    """The files of the set, of documents as above."""
    parts = {part: [entry for entry in sorted(found) if entry[1] == part] for part in ("train", "test")}
    counts = collections.Counter(word for entry in parts["train"] for word in set(entry[3]))
    terms = sorted(word for word, count in counts.items() if count >= 3)
    weight = {word: math.log(len(parts["train"]) / counts[word]) for word in terms}
    place = {word: number for number, word in enumerate(terms, 1)}
    files = {"reuters21578.vocab.txt": "".join(f"{word}\n" for word in terms)}
    for part, entries in parts.items():
        lines, earn = [], []
        for _, _, topics, words in entries:
            row = {place[word]: (1 + math.log(count)) * weight[word]
                   for word, count in collections.Counter(words).items() if word in place}
            length = math.sqrt(sum(value * value for value in row.values())) or 1
            cells = "".join(f" {j}:{row[j] / length:.5g}" for j in sorted(row))
            lines.append(f"{1 if TOPICS & set(topics) else -1}{cells}\n")
            earn.append(f"{1 if 'earn' in topics else -1}\n")
        files[f"reuters21578.{part}.svm"] = "".join(lines)
        files[f"reuters21578.{part}.earn.txt"] = "".join(earn)
    return ({name: text.encode("ascii") for name, text in files.items()},
            {f"reuters21578.{part}.svm": f"{len(entries)} rows" for part, entries in parts.items()})


def convert(folder):
    """reuters21578.tar.gz: reut2-000.sgm to reut2-021.sgm."""
    found = []
    with tarfile.open(folder / "reuters21578.tar.gz") as archive:
        for member in archive:
            if member.name.endswith(".sgm"):
                found += documents(archive.extractfile(member).read().decode("latin-1"))
    return vectors(found)
