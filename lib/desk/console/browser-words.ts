/** What the command's options are in a browser. */
const fields: Record<string, string> = {
  function: 'the field Function',
  map: 'a mapping file',
  kind: 'the filter Kind',
  id: 'one letter',
  'include-uncertain': 'the box of letters that are uncertain or outdated',
  set: 'a field of the form',
  unset: 'the box “remove”',
};

const sentences: readonly [said: RegExp, inBrowser: string][] = [
  [
    /Pass --function and its name, or --map and a mapping file\. There are: [^.]*\./,
    'Choose a function, or a mapping file.',
  ],
  [/: pass --function/, ': choose a function'],
  [/Pass --map or --function, not both\./, 'Choose a mapping file or a function, not both.'],
  [/Pass --format [\w|]+\./, 'Give the file an ending that tells it: .csv, .json or .jsonl.'],
  [/pass --format jsonl/, 'give the file the ending .jsonl'],
  [/ Open it in an editor, without --set\./, ''],
  [/ To set it as a text, write it as a JSON string, as in --set .*$/, ''],
  [/--set data\.([\w.-]+):/, '$1:'],
];

/** A sentence of the command, in the words of the browser: it names no option. */
export const inBrowserWords = (sentence: string): string => {
  const replaced = sentences.reduce((text, [said, words]) => text.replace(said, words), sentence);
  return replaced
    .replace(/\b(P|p)ass --([a-z-]+)/g, (match, first: string, name: string) =>
      fields[name] === undefined ? match : `${first === 'P' ? 'Use' : 'use'} ${fields[name]}`,
    )
    .replace(/--([a-z-]+)/g, (match, name: string) => fields[name] ?? match);
};

/** A remedy of a letter, without what is typed in a terminal: the console has a button for it. */
export const withoutCommands = (sentence: string): string =>
  sentence
    .replace(/ \(`sis-relay [^`]*`(?:, `sis-relay [^`]*`)*\)/g, '')
    .replace(/: `sis-relay [^`]*`/g, '')
    .replace(/; `sis-relay [^`]*`[^.;]*/g, '');
