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

/** The feed of zips that no folder and no pattern tells apart. */
export const zipFeed = 'oneroster';

/** Parts of a date in place of a folder's name. */
const isDate = (folder: string): boolean => /^[\d._T:-]+Z?$/.test(folder);

export const feedFor = (key: string, declared: FeedPatterns = {}): string => {
  const path = key.startsWith(snapshotsPrefix) ? key.slice(snapshotsPrefix.length) : key;
  for (const [name, patterns] of Object.entries(declared)) {
    if (isTable(name) !== isTable(key)) continue;
    for (const pattern of patterns) {
      const kept = keptBy(pattern, pattern.includes('/') ? path : fileNameOf(key));
      if (kept !== undefined) return name.replace('{}', () => kept);
    }
  }
  const folders = path
    .split('/')
    .slice(0, -1)
    .filter((folder) => folder !== '' && !isDate(folder));
  if (isTable(key)) return [...folders, fileNameOf(key)].join('/');
  return folders.length === 0 ? zipFeed : `${folders.join('/')}.zip`;
};

/**
 * The text at `{}`, which names the feed; `*` stands for text that does not. Each takes as little as it can. Undefined: the text is not of
 * this pattern.
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

/** Of what keeps its feed. What a version before 1.1 wrote has none. */
export const feedOf = ({ key, feed }: { key: string; feed?: string | undefined }): string =>
  feed ?? feedFor(key);

/** A key that a file of the feed could have. */
export const keyOfFeed = (feed: string): string =>
  `${snapshotsPrefix}${feed === zipFeed ? `${feed}.zip` : feed}`;

/** What is left of a name without what may count on: numbers, dates, the mark of a copy, and what separates these. */
const withoutNumbers = (feed: string): string => feed.replace(/\(?\bcopy\b\)?|\d+|[-_. ()]+/gi, '');

export const isNumberedLike = (one: string, other: string): boolean =>
  one !== other && withoutNumbers(one) === withoutNumbers(other);

/** The name of a file without its endings, as in `enrollments` for `enrollments.csv.gz`. */
export const stemOf = (name: string): string => fileNameOf(name).toLowerCase().split('.')[0] ?? '';

const withoutLastSeparators = (text: string): string => {
  let end = text.length;
  while (end > 0 && '-_. '.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
};

/** What declares both as one feed. */
export const declarationOf = (one: string, other: string): FeedPatterns => {
  const pattern = one.replace(/\d+(?:[-_. T:]?\d+)*Z?/g, '*');
  const isWide = keptBy(pattern, other) === undefined || !pattern.includes('*');
  if (isWide) return { [other]: [other, one] };
  const parts = pattern.split('*');
  const name = parts.map((part, at) => (at < parts.length - 1 ? withoutLastSeparators(part) : part)).join('');
  return { [/^\.?(csv|zip)$/.test(name) ? other : name]: [pattern] };
};
