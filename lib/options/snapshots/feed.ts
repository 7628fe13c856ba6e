/** Files under this prefix are imported. */
export const snapshotsPrefix = 'snapshots/';

/** Tables become messages by a mapping file. */
export const isTable = (key: string): boolean => /\.csv$/i.test(key);

export const isSnapshot = (key: string): boolean => /\.zip$/i.test(key) || isTable(key);

export const fileNameOf = (key: string): string => key.slice(key.lastIndexOf('/') + 1);

/**
 * A feed is what one source puts again and again: each file is compared with the one before of its feed. The settings name feeds by
 * patterns; otherwise a table has the feed of its folder and name, and a zip that of its folder.
 */
export type FeedPatterns = Readonly<Record<string, readonly string[]>>;

/** The feed of zips that no folder and no pattern distinguishes. */
export const zipFeed = 'oneroster';

const dayText = String.raw`(?<year>20\d\d)(?<sign>[-_.]?)(?<month>\d\d)\k<sign>(?<day>\d\d)`;
const timeText = String.raw`(?:[T_. -]?(?<hour>[01]\d|2[0-3])[:_.-]?[0-5]\d(?:[:_.-]?[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?`;
const dayAndTime = new RegExp(`^${dayText}${timeText}$`);
const dayFirst = /^(?<day>\d\d)(?<sign>[-_.])(?<month>\d\d)\k<sign>(?<year>20\d\d)$/;

/** A date, with or without a time. Another number names a school or a term. */
const isDate = (folder: string): boolean => {
  const { year, month, day } = (dayAndTime.exec(folder) ?? dayFirst.exec(folder))?.groups ?? {};
  const [one, other] = [Number(month), Number(day)];
  const isDay = (monthNumber: number, dayNumber: number): boolean => {
    const date = new Date(Date.UTC(Number(year), monthNumber - 1, dayNumber));
    return date.getUTCMonth() === monthNumber - 1 && date.getUTCDate() === dayNumber;
  };
  return year !== undefined && (isDay(one, other) || (dayFirst.test(folder) && isDay(other, one)));
};

/** Without folders of dates, as in `2026-11-28/` or `2026/11/28/`. */
const withoutDates = (folders: readonly string[]): string[] => {
  const kept: string[] = [];
  for (let at = 0; at < folders.length; at += 1) {
    const [folder = '', month = '', day = ''] = folders.slice(at, at + 3);
    if (isDate(`${folder}/${month}/${day}`.replaceAll('/', '-'))) at += 2;
    else if (folder !== '' && !isDate(folder)) kept.push(folder);
  }
  return kept;
};

export const feedFor = (key: string, declared: FeedPatterns = {}): string => {
  const path = key.startsWith(snapshotsPrefix) ? key.slice(snapshotsPrefix.length) : key;
  for (const [name, patterns] of Object.entries(declared)) {
    if (isTable(name) !== isTable(key)) continue;
    for (const pattern of patterns) {
      const kept = keptBy(pattern, pattern.includes('/') ? path : fileNameOf(key));
      if (kept !== undefined) return name.replace('{}', () => kept);
    }
  }
  const folders = withoutDates(path.split('/').slice(0, -1));
  if (isTable(key)) return [...folders, fileNameOf(key)].join('/');
  return folders.length === 0 ? zipFeed : `${folders.join('/')}.zip`;
};

/**
 * The part of the text at `{}`, which becomes part of the feed's name; `*` stands for text that does not. Each matches as little text as it
 * can. Undefined: the text does not match the pattern.
 */
const keptBy = (pattern: string, text: string): string | undefined => {
  const pieces = pattern.split(/(\*|\{\})/);
  const [first = '', ...others] = pieces;
  if (others.length === 0) return text === pattern ? '' : undefined;
  if (!text.startsWith(first)) return undefined;
  let kept = '';
  let at = first.length;
  for (let place = 0; place < others.length; place += 2) {
    const [wildcard, literal = ''] = others.slice(place, place + 2);
    const from = wildcard === '{}' ? at + 1 : at;
    const isLast = place + 2 === others.length;
    const end = text.length - literal.length;
    const found = !isLast ? text.indexOf(literal, from) : text.endsWith(literal) && end >= from ? end : -1;
    if (found < 0) return undefined;
    if (wildcard === '{}') kept = text.slice(at, found);
    at = found + literal.length;
  }
  return kept;
};

/** The feed of an entry in the bucket. A version before 1.1 wrote none: then the key gives it. */
export const feedOf = ({ key, feed }: { key: string; feed?: string | undefined }): string =>
  feed ?? feedFor(key);

/** A key that a file of the feed could have. */
export const keyOfFeed = (feed: string): string =>
  `${snapshotsPrefix}${feed === zipFeed ? `${feed}.zip` : feed}`;

/** Names of months and weekdays, long and short. */
const dateWords = [
  'jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec',
  'january|february|march|april|june|july|august|september|october|november|december',
  'mon|tue|wed|thu|fri|sat|sun',
  'monday|tuesday|wednesday|thursday|friday|saturday|sunday',
].join('|');
const dateWord = String.raw`(?<!\p{L})(?:${dateWords})(?!\p{L})`;
const counting = new RegExp(String.raw`\(?\bcopy\b\)?|\d+|${dateWord}|[-_. ()]+`, 'giu');

/** A name without the parts that differ from file to file: numbers, dates, the mark of a copy, and their separators. */
const withoutNumbers = (name: string): string => name.replace(counting, '');

const folderOf = (name: string): string => name.slice(0, name.lastIndexOf('/') + 1);

/** A numbered folder is a school or a term, and so another source; a folder may also be a part of a date. */
const withoutDateParts = (folder: string): string =>
  folder.replace(/(?<=^|\/)20\d\d(?:[-_.]?\d\d)?\/(?:\d\d\/)*/g, '');

export const isNumberedLike = (one: string, other: string): boolean =>
  one !== other &&
  withoutDateParts(folderOf(one)) === withoutDateParts(folderOf(other)) &&
  withoutNumbers(fileNameOf(one)) === withoutNumbers(fileNameOf(other));

/** The name of a file without its endings, as in `enrollments` for `enrollments.csv.gz`. */
export const stemOf = (name: string): string => fileNameOf(name).toLowerCase().split('.')[0] ?? '';

const withoutLastSeparators = (text: string): string => {
  let end = text.length;
  while (end > 0 && '-_. '.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
};

const monthDay = String.raw`\d\d[-_. ]?\d\d(?:[-_. T:]?\d\d)*Z?`;
/** Dates as a whole, other numbers, and names of months and days. */
const varyingParts = new RegExp(
  String.raw`(20\d\d[-_. ]?${monthDay}|\d{1,2}[-_. ](?:\d\d|${dateWord})[-_. ]20\d\d|\d+|${dateWord})`,
  'giu',
);

/** The name of a file with `*` in place of the numbers and dates that differ. Undefined: they differ in more. */
const patternOf = (one: string, other: string): string | undefined => {
  const [parts, others] = [one, other].map((name) => name.split(varyingParts));
  if (parts === undefined || others === undefined || parts.length !== others.length) return undefined;
  const isVarying = (at: number): boolean => at % 2 === 1;
  if (parts.some((part, at) => !isVarying(at) && part !== others[at])) return undefined;
  return parts.map((part, at) => (part === others[at] ? part : '*')).join('');
};

/**
 * The entry for `feeds` that makes both one feed: a pattern, if a separator is before each `*` and the pattern matches no other known file;
 * otherwise both names, beside the patterns that the feed has.
 */
export const declarationOf = (
  one: string,
  other: string,
  { known = [], declared = {} }: { known?: readonly string[]; declared?: FeedPatterns } = {},
): FeedPatterns => {
  const names = { [other]: [...new Set([...(declared[other] ?? [other]), patternOfOne(one)])] };
  const pattern = folderOf(one) === folderOf(other) ? patternOf(one, other) : undefined;
  if (pattern === undefined || !isTable(one) || /(?<![-_. ])\*/.test(pattern)) return names;
  const parts = pattern.split('*');
  const name = parts.map((part, at) => (at < parts.length - 1 ? withoutLastSeparators(part) : part)).join('');
  const proposal = { [name]: [pattern] };
  const isOther = (feed: string): boolean => feed !== one && feed !== other;
  const isWide = known.some((feed) => isOther(feed) && feedFor(keyOfFeed(feed), proposal) === name);
  return isWide || Object.hasOwn(declared, name) ? names : proposal;
};

/** Of a feed that the settings do not name. Zips have the feed of their folder. */
const patternOfOne = (feed: string): string =>
  isTable(feed) || feed === zipFeed ? feed : `${feed.replace(/\.zip$/, '')}/*.zip`;
