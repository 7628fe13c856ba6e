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

/** The text at `{}`, which names the feed; `*` stands for text that does not. Undefined: it is not of this pattern. */
const keptBy = (pattern: string, text: string): string | undefined => {
  const source = pattern
    .split(/(\*|\{\})/)
    .map((part) =>
      part === '*' ? '.*' : part === '{}' ? '(.+?)' : part.replace(/[\^$.+?()[\]{}|\\]/g, '\\$&'),
    )
    .join('');
  const found = new RegExp(`^${source}$`, 'su').exec(text);
  return found === null ? undefined : (found[1] ?? '');
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

/** What declares both as one feed. */
export const declarationOf = (one: string, other: string): FeedPatterns => {
  const pattern = one.replace(/\d+(?:[-_. T:]?\d+)*Z?/g, '*');
  const isWide = keptBy(pattern, other) === undefined || !pattern.includes('*');
  if (isWide) return { [other]: [other, one] };
  const name = pattern.replace(/[-_. ]*\*/g, '');
  return { [/^\.?(csv|zip)$/.test(name) ? other : name]: [pattern] };
};
