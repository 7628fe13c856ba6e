import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { failureKindNames } from '../lib/message/failure-kinds.ts';
import { messageType, parseMessage } from '../lib/message/message.ts';
import { outdatedAfterDays } from '../lib/message/retention.ts';
import { loadOptionParts, options } from '../lib/options.ts';
import { backoffSettings, limitSettings } from '../lib/runtime/aws/settings.ts';
import { steps } from '../lib/stage/doctor/steps.ts';
import { integrationNamed } from '../lib/stage/integrations.ts';
import { anchorsIn, documentOf, examplesIn, sectionOf, textOf, writtenPart } from './documents.ts';
import { example } from './local/examples.ts';
import { contracts } from './package/contract/contract.ts';

const root = resolve(import.meta.dirname, '..');
const documents = globSync(['**/*.md', '.github/*.md'], {
  cwd: root,
  exclude: (name) => /^(node_modules|\.serverless|\.local)$/.test(name),
});

const optionsSection = sectionOf('README.md', '## Options');
const documentOfOption = (name: string): string => `lib/options/${name}/README.md`;

/** An option can be deleted without a search for what names it. A misspelt one is not in the README's list. */
const isOfADeletedOption = (target: string): boolean => {
  const [, name = ''] = /^lib\/options\/([^/]+)\//.exec(target.replaceAll('\\', '/')) ?? [];
  return (
    optionsSection.includes(`](${documentOfOption(name)})`) && !existsSync(join(root, 'lib/options', name))
  );
};

/** Links within the project that lead nowhere. */
const brokenLinksIn = (path: string): string[] =>
  [...textOf(path).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link = '']) => {
    if (/^[a-z]+:/.test(link)) return [];
    const [file = '', anchor] = link.split('#');
    const target = file === '' ? path : join(dirname(path), file);
    const isThere =
      existsSync(join(root, target)) && (anchor === undefined || anchorsIn(target).includes(anchor));
    return isThere || isOfADeletedOption(target) ? [] : [link];
  });

/** The page that a program writes, of the last proofs. */
const results = /\]\(([^)\s]*test\/proofs\.md)(?:#[^)\s]*)?\)/g;
const measures =
  /\b\d[\d,.]* (?:µs|ms|s|minutes?|hours?|KB|MB|GB|%)(?!\w)|\b\d{4,}\b|\ban? (?:second|minute|hour)\b/g;
/** As one page writes 5,000,000 and the other 5000000. */
const figuresIn = (text: string): string[] => text.replace(/(?<=\d),(?=\d{3})/g, '').match(measures) ?? [];

/** Figures of sentences that lead to a page of results, which that page does not have. */
const unprovenIn = (path: string, text = textOf(path)): string[] =>
  text
    .replace(/\n(?=\S)(?![-*|#])/g, ' ')
    .replace(/\n +(?![-*|])/g, ' ')
    .split(/(?<=\.\)?) |\n/)
    .flatMap((sentence) => {
      const pages = [...sentence.matchAll(results)].map(([, page = '']) =>
        figuresIn(documentOf(join(dirname(path), page))),
      );
      const figures = figuresIn(sentence.replace(/\]\([^)]*\)/g, ']'));
      return pages.flatMap((page) => figures.filter((each) => !page.includes(each)));
    });

/** The first cells of a table's rows, taken apart at their code. */
const namesIn = (section: string): string[] =>
  [...section.matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
  );

/** What is marked with † for another reason than that AWS may behave otherwise, or what no step can try: a crowded queue. */
const otherMarks = ['is marked †', 'Prices of us-east-1†', 'up to a minute old†'];
/** The sentences before the marks. */
const markedIn = (path: string, text = textOf(path)): string[] => {
  const whole = otherMarks.reduce((all, mark) => all.replaceAll(mark, ''), text.replaceAll('\n', ' '));
  return [...whole.matchAll(/(?:\*\*([^*]+?)\.?\*\*)?†/g)].map(([, sentence]) => sentence ?? `${path}: †`);
};

describe('documents', () => {
  test('each claim about AWS that was never tried there has a step of doctor, and no step names another', () => {
    const marked = documents.flatMap((path) => markedIn(path));
    const tried = steps.flatMap((step) => step.marked ?? []);
    expect(tried.toSorted()).toEqual(marked.toSorted());
    expect(markedIn('a.md', '- **New claim.**† Words† of the kind.')).toEqual(['New claim', 'a.md: †']);
  });

  test.each(documents)('%s has no link that leads nowhere', (path) => {
    expect(brokenLinksIn(path)).toEqual([]);
  });

  test.each(documents)('%s gives no other figures of a proof than the page that it leads to', (path) => {
    expect(unprovenIn(path)).toEqual([]);
  });

  test('a figure that the page of results does not have is named', () => {
    const link = '[rows](test/proofs.md#measure-snapshots)';
    const text = `- 5,000,000 ${link}\n  are compared within 900 MB.\n- 4 GB. ${link} take less than a minute, and 900.5 MB. No 3 s.`;
    expect(unprovenIn('README.md', text)).toEqual(['a minute', '900.5 MB']);
  });

  test('the README and the runbook name each option, with its functions', () => {
    for (const { name, functions } of options) {
      const [, row = ''] = optionsSection.split(`](${documentOfOption(name)}) |`);
      for (const each of functions) expect(row.split('\n')[0], name).toContain(`\`${each}\``);
      expect(documentOf('lib/desk/cli/README.md')).toContain(`/options/${name}/README.md#what-operators-do`);
    }
  });

  test('the README says when each option runs that has a schedule', async () => {
    const declared = documentOf('serverless.yml');
    const settings = Object.assign({}, ...(await loadOptionParts()).map((each) => each.stageSettings ?? {}));
    const schedules: [RegExp, string][] = [
      [/^rate\(1 minute\)$/, 'every minute'],
      [/^cron\(\d+ \* \* \* \? \*\)$/, 'every hour'],
      [/^cron\(\d+ \d+ \* \* \? \*\)$/, 'every night'],
    ];
    for (const name of options.flatMap(({ functions }) => functions)) {
      const [, stanza = ''] = declared.split(`\n  ${name}:\n`);
      const [, rate] = /schedule: \{ rate: \['?([^\]']+)'?\]/.exec(stanza.split('\n\n')[0] ?? '') ?? [];
      if (rate === undefined) continue;
      const parameter = /^\$\{param:(\w+)\}$/.exec(rate)?.[1];
      const usual = parameter === undefined ? rate : settings[parameter]?.usual;
      const [, when] = schedules.find(([form]) => form.test(usual)) ?? [];
      expect(optionsSection, `${name}: ${usual}`).toContain(`| \`${name}\` | ${when}`);
    }
  });

  test('the README is at most 250 lines, and leads to each of the others', () => {
    expect(documentOf('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(250);
    const others = documents.filter((path) => path.endsWith('README.md') && path !== 'README.md');
    expect(
      others.filter((path) => !documentOf('README.md').includes(`](${path.replaceAll('\\', '/')})`)),
    ).toEqual([]);
  });

  test('the producers’ guide names each type of message, and no other', async () => {
    const types = (await contracts()).map(({ type }) => type).sort();
    expect(namesIn(sectionOf('events/README.md', '## The types')).sort()).toEqual(types);
  });

  test('the README names each kind of failure, and no other', () => {
    const named = namesIn(sectionOf('README.md', '## What happens to a failure'));
    expect(named.sort()).toEqual([...failureKindNames].sort());
  });

  test('the README has the times by which the code decides about a failure', () => {
    const { maxWaitMs, maxUnknownIdWaitMs } = limitSettings;
    const { minimumSeconds, maximumSeconds } = backoffSettings;
    const section = sectionOf('README.md', '## What happens to a failure').replaceAll('\n', ' ');
    for (const words of [
      `older than ${outdatedAfterDays} days`,
      `the next fills of the crosswalk, ${maxUnknownIdWaitMs.usual} hours, then parked`,
      `otherwise ${minimumSeconds.usual} s to ${maximumSeconds.usual / 60} min`,
      `for at most ${maxWaitMs.usual} hours`,
    ])
      expect(section).toContain(words);
  });

  test('the message that the producers’ guide shows is valid', async () => {
    const integration = await integrationNamed('grade-push');
    const [message] = examplesIn(documentOf('events/README.md'));
    expect(message).toMatchObject({ type: messageType('grade-push') });
    expect(() => parseMessage(JSON.stringify(message), integration!, Date.now())).not.toThrow();
    expect(message).toMatchObject({ id: JSON.parse(await example('grade-push')).id });
  });

  test('the README’s figures are those of the tables that are measured', () => {
    const row = '\n| `grade-push`, both comments given | ';
    const [batch, , , , , , , , together] =
      writtenPart('costs').split(row)[1]?.split('\n')[0]?.split(' | ') ?? [];
    expect(sectionOf('README.md', '## Deploy it').replaceAll('\n', ' ')).toContain(
      `: a million grades cost ${together} in batches of ${batch}.`,
    );
  });

  test('lib/README.md has each room in its table, in the order in which they may import', () => {
    const table = /^const allRooms: .*?^};$/ms.exec(
      readFileSync(join(root, 'test/house.test.ts'), 'utf8'),
    )?.[0];
    const rooms = [...(table ?? '').matchAll(/^ {2}'?([\w/-]+)'?:/gm)].map(([, room]) => room);
    expect(namesIn(sectionOf('lib/README.md', '## Rooms'))).toEqual(rooms);
  });
});
