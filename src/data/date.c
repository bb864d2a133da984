/* SPDX-License-Identifier: BSD-3-Clause */
/* Dates as days since 1970-01-01, in the proleptic Gregorian calendar.
 *
 * Without a format a date is ISO 8601: 2024-03-01, perhaps followed by T or a blank and a time,
 * 12:30, 12:30:15 or 12:30:15.25, and by Z or the distance from UTC, +02:00. A format has %Y %y %m
 * %d %b %H %M %S and %%; other characters stand for themselves. %y is 1969 to 2068, %b an English
 * name of a month, at least its first three letters. No locale matters, and neither does the time
 * zone of the machine: a time without one is taken as it stands. */
#include "data/dress.h"

#include <stdio.h>
#include <string.h>

struct moment {
    int64_t year, month, day;
    double seconds; /* since midnight */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A whole number of `least` to `most` digits at *p. */
static bool take_number(const char **p, const char *end, int least, int most, int64_t *out)
{
    int count = 0;
    *out = 0;
    while (*p < end && count < most && is_digit(**p)) {
        *out = *out * 10 + (*(*p)++ - '0');
        count++;
    }
    return count >= least;
}

static bool take_char(const char **p, const char *end, char c)
{
    if (*p >= end || **p != c)
        return false;
    ++*p;
    return true;
}

/* Seconds, with a fraction or not. */
static bool take_seconds(const char **p, const char *end, double *out)
{
    int64_t whole;
    double place = 0.1;
    if (!take_number(p, end, 2, 2, &whole) || whole > 59)
        return false;
    *out += (double)whole;
    if (*p + 1 < end && (**p == '.' || **p == ',') && is_digit((*p)[1]))
        for (++*p; *p < end && is_digit(**p); ++*p, place /= 10)
            *out += place * (**p - '0');
    return true;
}

/* Days of 1970-01-01 to a date; false when there is no such day. */
static bool count_days(const struct moment *m, double *out)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = m->year % 4 == 0 && (m->year % 100 != 0 || m->year % 400 == 0);
    if (m->month < 1 || m->month > 12 || m->day < 1 ||
        m->day > lengths[m->month - 1] + (leap && m->month == 2))
        return false;
    /* Years begin in March here, so that the day that comes and goes is the last one. */
    int64_t year = m->year - (m->month <= 2), month = (m->month + 9) % 12;
    int64_t days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + m->day;
    *out = (double)(days - 719469) + m->seconds / 86400;
    return true;
}

static bool take_time(const char **p, const char *end, struct moment *m)
{
    int64_t hour, minute;
    if (!take_number(p, end, 2, 2, &hour) || hour > 23 || !take_char(p, end, ':') ||
        !take_number(p, end, 2, 2, &minute) || minute > 59)
        return false;
    m->seconds = (double)(hour * 3600 + minute * 60);
    if (take_char(p, end, ':') && !take_seconds(p, end, &m->seconds))
        return false;
    if (*p == end || take_char(p, end, 'Z'))
        return true;
    bool east = **p == '+';
    if (!east && **p != '-')
        return false;
    ++*p;
    if (!take_number(p, end, 2, 2, &hour) || hour > 23)
        return false;
    minute = 0;
    take_char(p, end, ':');
    if (*p < end && (!take_number(p, end, 2, 2, &minute) || minute > 59))
        return false;
    m->seconds -= (double)(hour * 3600 + minute * 60) * (east ? 1 : -1);
    return true;
}

static bool parse_iso(const char *text, size_t length, double *out)
{
    const char *p = text, *end = text + length;
    struct moment m = {0};
    if (!take_number(&p, end, 4, 4, &m.year) || !take_char(&p, end, '-') ||
        !take_number(&p, end, 2, 2, &m.month) || !take_char(&p, end, '-') ||
        !take_number(&p, end, 2, 2, &m.day))
        return false;
    if (p < end && (*p == 'T' || *p == ' ')) {
        p++;
        if (!take_time(&p, end, &m))
            return false;
    }
    return p == end && count_days(&m, out);
}

/* An English name of a month, in any case. */
static bool take_month(const char **p, const char *end, int64_t *out)
{
    static const char *const months[] = {"january",   "february", "march",    "april",
                                         "may",       "june",     "july",     "august",
                                         "september", "october",  "november", "december"};
    for (int i = 0; i < 12; i++) {
        int same = 0;
        while (*p + same < end && months[i][same] && ((*p)[same] | 0x20) == months[i][same])
            same++;
        if (same == 3 || (same > 3 && !months[i][same])) {
            *out = i + 1;
            *p += same;
            return true;
        }
    }
    return false;
}

static bool take_field(const char **p, const char *end, char field, struct moment *m)
{
    int64_t value;
    switch (field) {
    case 'Y':
        return take_number(p, end, 4, 4, &m->year);
    case 'y':
        if (!take_number(p, end, 2, 2, &value))
            return false;
        m->year = value < 69 ? 2000 + value : 1900 + value;
        return true;
    case 'm':
        return take_number(p, end, 1, 2, &m->month);
    case 'b':
        return take_month(p, end, &m->month);
    case 'd':
        return take_number(p, end, 1, 2, &m->day);
    case 'H':
    case 'M':
        if (!take_number(p, end, 1, 2, &value) || value > (field == 'H' ? 23 : 59))
            return false;
        m->seconds += (double)(value * (field == 'H' ? 3600 : 60));
        return true;
    case 'S':
        return take_seconds(p, end, &m->seconds);
    default:
        return field == '%' && take_char(p, end, '%');
    }
}

bool mrc_parse_date(const char *text, size_t length, const char *format, double *out)
{
    const char *p = text, *end = text + length;
    struct moment m = {.month = 1, .day = 1};
    if (!format)
        return parse_iso(text, length, out);
    for (; *format; format++)
        if (*format == '%' ? !take_field(&p, end, *++format, &m) : !take_char(&p, end, *format))
            return false;
    return p == end && count_days(&m, out);
}

bool mrc_date_format_is_good(const char *format)
{
    bool year = false;
    int marks = 0; /* that no plain number has, or has only once */
    for (; *format; format++) {
        if (*format != '%') {
            marks += *format == '.' ? 1 : 2 * !is_digit(*format);
            continue;
        }
        if (!*++format || !strchr("YymbdHMS%", *format))
            return false;
        year |= *format == 'Y' || *format == 'y';
        marks += *format == 'b' ? 2 : 0;
    }
    return year && marks > 1;
}

bool mrc_looks_like_date(const char *text, size_t length, char format[MRC_DATE_FORMAT])
{
    const char *p = text, *end = text + length;
    int64_t part[3] = {0};
    int digits[3] = {0};
    char mark = 0;
    for (int i = 0; i < 3; i++) {
        const char *start = p;
        if (!take_number(&p, end, 1, 4, &part[i]))
            return false;
        digits[i] = (int)(p - start);
        if (i < 2 && (p >= end || !memchr("./-", *p, 3) || (i == 1 && *p != mark)))
            return false;
        mark = i < 2 ? *p++ : mark;
    }
    if (p < end && *p != ' ' && *p != 'T') /* a time may follow */
        return false;
    const bool first = digits[0] == 4,
               last = digits[2] == 4 || (!first && digits[2] == 2 && digits[1] == 2);
    const int64_t a = part[first ? 1 : 0], b = part[first ? 2 : 1];
    const bool month_first = first ? a <= 12 : b > 12;
    snprintf(format, MRC_DATE_FORMAT, "%s%%%c%c%%%c%s", first ? "%Y/" : "", month_first ? 'm' : 'd',
             mark, month_first ? 'd' : 'm',
             first            ? ""
             : digits[2] == 4 ? "/%Y"
                              : "/%y");
    for (char *c = format; *c; c++)
        *c = *c == '/' ? mark : *c;
    static const char *const times[] = {"", " %H:%M", " %H:%M:%S", "T%H:%M", "T%H:%M:%S"};
    enum { TIMES = sizeof times / sizeof *times };
    const size_t used = strlen(format);
    int time = 0;
    for (; time < TIMES; time++) {
        double days;
        snprintf(format + used, MRC_DATE_FORMAT - used, "%s", times[time]);
        if (mrc_parse_date(text, length, format, &days))
            break;
    }
    if (time == TIMES)
        *format = 0;
    return first != last && digits[1] <= 2 && a >= 1 && b >= 1 && a <= 31 && b <= 31 &&
           (a <= 12 || b <= 12);
}
