import { spawnSync } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { styleText } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { functionNames } from '../../../../esbuild.config.ts';
import { integration } from '../../../../functions/grade-push.ts';
import { run } from '../../../../lib/desk/cli/cli.ts';
import { errorSentence } from '../../../../lib/desk/cli/print/error-sentence.ts';
import { guarded, terminalOf } from '../../../../lib/desk/cli/print/terminal.ts';
import { countsOf } from '../../../../lib/desk/messages/letters/queue.ts';
import { withSession } from '../../../../lib/desk/messages/letters/session.ts';
import { draftOf } from '../../../../lib/message/message.ts';
import { ownVersion, versionText } from '../../../../lib/stage/version.ts';
import { inTopic } from '../../../envelopes.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { eventBody, never, type Office, officesForTests } from './office.ts';
import { documentIn, documentsIn, quietTerminal, typed as sisRelay } from './typed.ts';

const offices = officesForTests();
const folder = temporaryFolder();
const bin = resolve(import.meta.dirname, '../../../../lib/desk/cli/sis-relay.js');

const stackOf = (office: Office, server?: string): string => {
  const file = join(folder, `${office.target.prefix}stack.json`);
  writeFileSync(file, JSON.stringify(office.description(server)));
  return `--stack ${file}`;
};
const opened = async () => {
  const office = await offices.open();
  return { office, stack: stackOf(office) };
};

const commands = [
  '',
  'letters',
  ...['groups', 'list', 'show', 'replay', 'edit', 'discard', 'export', 'import'].map(
    (each) => `letters ${each}`,
  ),
  'status',
  'publish',
  'check-message',
  'scopes',
  'auth-url',
  'doctor',
  'completion',
  'help',
];

describe('help', () => {
  test.each(commands)('of “%s” has examples, fits 100 columns and ends well', async (command) => {
    const { status, out } = await sisRelay(`${command} --help`);
    expect(status).toBe(0);
    expect(out).toMatch(/^Usage: sis-relay/);
    expect(out).toMatch(/Examples:\n {2}sis-relay/);
    expect(out.split('\n').filter((line) => line.length > 100)).toEqual([]);
  });
});

test('what is to be typed next is told as it was started: in help, hints and errors', async () => {
  const said = { out: '', err: '' };
  const terminal = {
    ...quietTerminal,
    command: (words: string) => `npx sis-relay ${words}`,
    out: (text: string) => {
      said.out += text;
    },
    err: (text: string) => {
      said.err += text;
    },
  };
  await run(['publish', '--help'], terminal);
  expect(said.out).toMatch(/^Usage: npx sis-relay publish /);
  expect(said.out).toContain('\n  npx sis-relay publish messages.jsonl --valid-only\n');
  expect(said.out).toContain('./export-grades | npx sis-relay publish - --format csv');
  expect(said.out.replaceAll('npx sis-relay', '')).not.toContain('sis-relay publish');
  said.out = '';
  await run(['--help'], terminal);
  expect(said.out).toMatch(/^Usage: npx sis-relay \[options\]/);
  const { stack } = await opened();
  await run(['letters', 'show', '3f0c91aa', ...stack.split(' ')], terminal);
  const lines = said.err.split('\n');
  expect(
    lines.some((line) => line.includes(`\`npx sis-relay letters list ${stack}\``)),
    said.err,
  ).toBe(true);
  expect(
    lines.some((line) => line.includes(`\`npx sis-relay trace 3f0c91aa ${stack}\``)),
    said.err,
  ).toBe(true);
});

describe('whoever asks wrongly is told how to ask, with status 2', () => {
  test.each([
    ['', /^Usage:/],
    ['lettrs', /Did you mean letters\?/],
    ['letters grups', /Did you mean groups\?/],
    [
      'letters replay --cause 1f2e3d4c 5a6b7c8d',
      /too many arguments .* Separate several values of an option by commas, as in --cause/,
    ],
    ['letters show', /missing required argument 'id'/],
    ['letters groups --kind rejected,invald --stage x', /no kind invald: did you mean invalid\?/],
    ['letters groups --kind xyz --stage x', /There is no kind xyz\. It must be one of invalid, /],
    ['letters list --function grade-push,org-unit-mov --stage x', /did you mean org-unit-move\?/],
    ['letters list --status 403,abc --stage x', /--status must be a status such as 403, or 5xx/],
    ['help lettrs', /unknown command 'lettrs' \(Did you mean letters\?\)/],
    ['help letters replya', /unknown command 'replya' \(Did you mean replay\?\)/],
    ['completion tcsh', /Allowed choices are bash, zsh, fish/],
    [`letters groups --org-unit ${'x'.repeat(257)} --stage x`, /must be an id of at most 256 characters/],
    ['letters groups --min-replays=-1 --stage x', /--min-replays must be 0 or more/],
    ['letters groups --local --stage prod', /^--local works on a stack of this machine, and --stage on/],
    ['letters list --stack x.json --profile ops --bucket b', /^--stack works on .* --bucket and --profile/],
    ['letters list --limit 0', /whole number from 1 to 10000/],
    ['letters replay --rate 501', /a number above 0, up to 500/],
    ['letters replay --canary few', /whole number from 0 to 100/],
    ['letters edit abcd', /required option '--reason <text>'/],
    ['letters edit abcd --reason r --set points --stage x', /--set points must be as in data.grade.points=7/],
    ['letters show abcd --reveal --stage x', /Why is it revealed\? Pass --reason, as in --reason "the/],
    ['letters verify --reveal --stage x', /Why is it revealed\? Pass --reason/],
    ['letters discard --reason r --stage x', /Which letters\? Pass a filter/],
    ['letters export --to a', /required option '--reason <text>'/],
    ['publish x.json --format xml', /Allowed choices are json, jsonl, csv/],
    [
      'scopes grade-pish',
      /There is no function grade-pish: did you mean grade-push\? There are: .*connection-check/,
    ],
    ['letters groups --colour red', /unknown option '--colour'/],
    ['letters discard --all --reason= --stage x', /It must not be empty: say why/],
    [
      `publish ${tmpdir()} --format csv --function grade-push --stage x`,
      /is not a regular file, and must be/,
    ],
    ['publish nothing --stage x', /There is no file nothing/],
    ['status --stack nothing.json', /There is no file .*nothing\.json\. Pass the \.local\/stack\.json/],
  ])('%s', async (line, reason) => {
    const { status, err } = await sisRelay(line);
    expect(status).toBe(2);
    expect(err.replace(/\s+/g, ' ')).toMatch(reason);
  });
});

describe('scopes', () => {
  test('are told of each function, with what needs them, and together as a client asks for them', async () => {
    const { status, out, err } = await sisRelay('scopes grade-push submission-upload token-refresh');
    expect({ status, err }).toEqual({ status: 0, err: '' });
    expect(out).toMatch(
      /^grade-push\ngrades:gradeobjects:read {2}list-grade-objects\ngrades:gradevalues:read {3}read-grade-value$/m,
    );
    expect(out).toMatch(/^submission-upload {2}signed by the user whom the message names$/m);
    expect(out).toMatch(/^token-refresh\nnone/m);
    expect(out).toMatch(
      /for all of these\ngrades:gradeobjects:read grades:gradevalues:read grades:gradevalues:write\n\n.*credentials of users\ndropbox:folders:read /,
    );
  });

  test('are those of every function in JSON, and of a site that names them otherwise', async () => {
    process.env.PLATFORM_OPERATIONS = '{"set-grade-value":{"scope":"grades:all:write"}}';
    const { out } = await sisRelay('scopes --json');
    delete process.env.PLATFORM_OPERATIONS;
    const scopes = documentsIn(out)[0] as { functions: object; service: string };
    expect(Object.keys(scopes.functions)).toEqual(functionNames);
    expect(scopes.service.split(' ')).toEqual(expect.arrayContaining(['grades:all:write', 'core:*:*']));
    expect(scopes.service).not.toContain('grades:gradevalues:write');
  });
});

describe('check-message', () => {
  const wrong = eventBody('grade-push', { userId: 'Jane', grade: { type: 'numeric', points: 'Jane' } });

  test('says of each message what its function would say, field by field, and no value of it', async () => {
    const stdin = [eventBody(), wrong, eventBody('grade-push', { comments: 'not \uFFFE' }), '{'].join('\n');
    const { status, out, err } = await sisRelay('check-message', { stdin });
    expect({ status, err }).toEqual({ status: 1, err: '' });
    expect(out.split('\n')).toEqual([
      'line 2: data.userId: must be a positive whole number',
      'line 2: data.grade.points: must be a number',
      'line 3: holds U+FFFE, a character that SQS does not accept',
      'line 4: is not JSON',
      '1 valid message (1 for grade-push), 3 not valid.',
      '',
    ]);
    const asJson = await sisRelay('check-message --json', { stdin });
    expect(documentIn(asJson.out)).toEqual({
      valid: 1,
      invalid: 3,
      functions: { 'grade-push': 1 },
      outdated: 0,
      problems: [
        { line: 2, field: 'data.userId', problem: 'must be a positive whole number' },
        { line: 2, field: 'data.grade.points', problem: 'must be a number' },
        { line: 3, problem: 'holds U+FFFE, a character that SQS does not accept' },
        { line: 4, problem: 'is not JSON' },
      ],
    });
    expect(out + asJson.out).not.toContain('Jane');
    expect(() => draftOf(wrong, integration, Date.now())).toThrow(
      'The message is not valid: data.userId: must be a positive whole number; data.grade.points: must be a number',
    );
  });

  test.each([
    ['one event', eventBody(), 0],
    ['one event, indented', JSON.stringify(JSON.parse(eventBody()), null, 2), 0],
    // As it is written SQS takes it, though not as another program may write it.
    ['an event with an escape', eventBody('grade-push', { comments: 'a?' }).replace('a?', '\\ufffe'), 0],
    ['a list', `[${eventBody()},${eventBody('enrollment-create')}]`, 0],
    ['an event in SNS', inTopic(eventBody()), 0],
    ['lines', `${eventBody()}\r\n\r\n${eventBody()}\n`, 0],
    ['a list of nothing', '[]', 1, /^the standard input holds no message\./],
    ['an event of no function', eventBody('../token-refresh'), 1],
    ['no JSON', 'Jane', 2, /is not JSON \(its first fault is in line 1, column 1\)\. Correct it there/],
    ['nothing', '', 2, /^the standard input is empty\. It must hold a message, /],
  ])('takes %s', async (_, stdin, expected, mergeText = /./) => {
    const { status, out, err } = await sisRelay('check-message -', { stdin });
    const said = out + err;
    expect({ status, said }).toEqual({ status: expected, said: expect.not.stringContaining('Jane') });
    expect(said.replace(/\s+/g, ' ')).toMatch(mergeText);
  });

  test('sends who has a table to the command that takes it', async () => {
    const file = join(folder, 'grades.csv');
    writeFileSync(file, 'orgUnitId,userId\n');
    const { status, err } = await sisRelay(`check-message ${file}`);
    expect({ status, err: err.replace(/\s+/g, ' ') }).toEqual({
      status: 2,
      err: expect.stringContaining(`sis-relay publish ${file} --function <name> --dry-run`),
    });
  });
});

describe.concurrent('an answer', () => {
  test('of groups says what failed, how often, and what to do; nothing there is status 1', async () => {
    const { office, stack } = await opened();
    expect(await sisRelay(`letters groups ${stack}`)).toMatchObject({
      status: 1,
      out: expect.stringMatching(/there are no dead letters\.\n$/),
    });
    expect((await sisRelay(`snapshots list ${stack}`)).status).toBe(1);
    await office.park([{}, {}]);
    const { status, out, err } = await sisRelay(`letters groups ${stack}`);
    expect({ status, err }).toEqual({ status: 0, err: '' });
    expect(out).toMatch(
      / {6}2 {2}grade-push {2}rejected +[0-9a-f]{8} +<1 min +<1 min\n {9}404 Not Found\n {9}All in org unit 2001, grade object 5001, user 301\.\n {9}→ Correct what the platform names, then replay\./,
    );
    expect(await sisRelay(`letters groups --kind unknown-source ${stack}`)).toMatchObject({
      status: 1,
      out: expect.stringMatching(/no dead letter matches/),
    });
  });

  test('is the same for whoever looks while somebody else has letters in hand', async () => {
    const { office, stack } = await opened();
    await office.park([{}]);
    let out = '';
    await withSession(office.target, async (session) => {
      for await (const _ of session.letters({ signal: never })) {
        ({ out } = await sisRelay(`letters list ${stack}`));
        out += (await sisRelay(`status ${stack}`)).out;
        break;
      }
    });
    expect(out).toMatch(/grade-push {2}rejected {2}301 · 2001/);
    expect(out).toMatch(/ 1 {2}rejected/);
  });

  test('tells of each letter what the platform said', async () => {
    const { office, stack } = await opened();
    await office.park([{ failure: { detail: 'User not found' } }]);
    expect((await sisRelay(`letters list ${stack}`)).out).toMatch(
      /rejected {2}301 · 2001 · grade object 5001 +– {2}404 User not found$/m,
    );
  });

  test('fits 100 columns, whatever lies in the queue', async () => {
    const { office, stack } = await opened();
    const long = 'a very long word '.repeat(30);
    await office.park([
      { failure: { title: long, remedy: long, detail: long, required: 'x:y:z', kind: 'missing-scope' } },
    ]);
    await office.send(
      office.deadLetters.url,
      [{ MessageBody: '\u001B[31mred\u0007', MessageAttributes: {} }].map((each) => ({
        ...each,
        MessageBody: 'garbage',
      })),
    );
    for (const command of ['groups', 'list', 'replay --dry-run', 'discard --all --reason r --dry-run']) {
      const { out, asked } = await sisRelay(`letters ${command} ${stack}`);
      expect(out.split('\n').filter((line) => line.length > 100 && !line.includes(folder))).toEqual([]);
      expect(asked).toEqual([]);
    }
  });

  test('in JSON is one document, and nothing else', async () => {
    const { office, stack } = await opened();
    await office.park([{}, { failure: { kind: 'unavailable' } }]);
    expect(documentIn((await sisRelay(`letters groups --json ${stack}`)).out)).toMatchObject({
      matching: 2,
      listed: 2,
      queued: 2,
    });
    expect(documentIn((await sisRelay(`letters list --json ${stack}`)).out).letters).toHaveLength(2);
    expect(documentIn((await sisRelay(`status --json ${stack}`)).out)).toMatchObject({
      letters: { counts: { visible: 2 } },
    });
    const replayed = await sisRelay(
      `letters replay --no-probe --yes --canary 0 --canary-wait 1 --kind rejected --json ${stack}`,
    );
    expect(documentIn(replayed.out)).toMatchObject({
      plan: { matching: 1 },
      result: { ended: 'done', counts: { sent: 1 } },
    });
    // Its progress is shown every ten seconds.
    expect(replayed.err).toMatch(/^(?:Sent 1 of about 1\n)*Recorded as [0-9a-f]{8} by \S+\.\n$/);
    expect(replayed.asked).toEqual([]);
    const [id = ''] = await office.park([{}]);
    const edit = `letters edit ${id} --reason r --set data.grade.points=7 --wait 1 --json`;
    const unasked = await sisRelay(`${edit} ${stack}`);
    expect(unasked.err).toMatch(/there is no terminal to ask on/);
    expect(Object.keys(documentIn(unasked.out))).toEqual(['difference', 'plan']);
    expect(documentIn((await sisRelay(`${edit} --yes ${stack}`)).out)).toMatchObject({
      difference: [{ field: 'data.grade.points', after: 7 }],
      result: { ended: 'done', counts: { sent: 1, unknown: 1 } },
    });
    const discard = `letters discard --kind unavailable --reason r --yes --json ${stack}`;
    expect(documentIn((await sisRelay(discard)).out)).toMatchObject({
      plan: { letters: 1 },
      result: { discarded: 1 },
    });
  });
});

describe.concurrent('personal data', () => {
  const body = eventBody('grade-push', { comments: 'Dear Jane' });

  test('is not shown, and revealed only to the audit log’s knowledge', async () => {
    const { office, stack } = await opened();
    const [id = ''] = await office.park([
      { body, attributes: { teacher: { DataType: 'String', StringValue: 'Jim' } } },
    ]);
    const masked = await sisRelay(`letters show ${id.slice(0, 8)} ${stack}`);
    expect(masked.status).toBe(0);
    expect(masked.out).toMatch(/"userId": 301/);
    expect(masked.out).not.toMatch(/Jane|: 8\.5|Jim/);
    const audited = async () =>
      [...(await office.objects('audit/')).values()]
        .map((line) => JSON.parse(line))
        .filter((entry) => entry.letters?.includes(id));
    expect(await audited()).toEqual([]);
    const revealed = await sisRelay(`letters show ${id} --reveal --reason "he asks" --as jane ${stack}`);
    expect(revealed.out).toMatch(/Dear Jane[\s\S]*8\.5|8\.5[\s\S]*Dear Jane/);
    expect(await audited()).toContainEqual(
      expect.objectContaining({
        audit: 'begin',
        command: 'letters show --reveal',
        reason: 'he asks',
        who: 'jane',
        letters: [id],
      }),
    );
    await sisRelay(`letters show no-such-id --reveal --reason r ${stack}`);
    const ends = [...(await office.objects('audit/')).values()].map((line) => JSON.parse(line));
    expect(ends).toContainEqual(
      expect.objectContaining({ audit: 'end', letters: ['no-such-id'], counts: { revealed: 0 } }),
    );
    expect(documentsIn((await sisRelay(`letters show ${id} --json ${stack}`)).out)).toMatchObject([
      { message: { data: { comments: '•••' } } },
    ]);
  });

  test('is not shown by a file’s name, nor by a title that repeats the message', async () => {
    const { office, stack } = await opened();
    const files = [
      { uri: 's3://uploads/jane-doe.pdf', name: 'jane-doe.pdf', contentType: 'application/pdf' },
    ];
    const [file, title] = await office.park([
      {
        body: eventBody('submission-upload', { files }),
        failure: { kind: 'invalid', message: '‹s3://uploads/jane-doe.pdf›: not there' },
      },
      {
        body: eventBody('grade-push', { comments: 'Dear Jane' }),
        failure: {
          title: 'Dear Jane',
          message: 'The platform answered PUT /x with 400 Dear Jane',
          status: 400,
        },
      },
    ]);
    const shown = [`show ${file}`, `show ${title}`, 'list', 'groups', 'replay --dry-run --no-probe'];
    for (const command of shown.flatMap((each) => [each, `${each} --json`])) {
      const { out, err } = await sisRelay(`letters ${command} ${stack}`);
      expect([command, out + err]).toEqual([command, expect.not.stringMatching(/jane/i)]);
    }
    expect((await sisRelay(`letters show ${file} ${stack}`)).out).toContain('a file: not there');
    expect((await sisRelay(`letters show ${file} --reveal --reason r ${stack}`)).out).toContain(
      '‹s3://uploads/jane-doe.pdf›: not there',
    );
  });

  test('is not revealed where that could not be written down', async () => {
    const { office } = await opened();
    const [id] = await office.park([{ body }]);
    const file = join(folder, 'other-bucket.json');
    writeFileSync(file, JSON.stringify({ ...office.description(), bucket: 'no-such-bucket' }));
    const { status, out, err } = await sisRelay(`letters show ${id} --reveal --reason r --stack ${file}`);
    expect({ status, out }).toEqual({ status: 1, out: '' });
    expect(err).toMatch(/no such bucket/);
  });

  test('that is exported lies in a file that nobody else can read', async () => {
    const { office, stack } = await opened();
    await office.park([{ body }]);
    const file = join(folder, 'export.jsonl');
    expect(
      await sisRelay(`letters export --kind unknown-source --to ${file} --reason r ${stack}`),
    ).toMatchObject({
      status: 1,
      out: expect.stringMatching(/^No letter matches, so nothing was written to\s+\S+export\.jsonl\.\s*$/),
    });
    expect(await sisRelay(`letters export --to ${file} --reason r ${stack}`)).toMatchObject({ status: 0 });
    expect(JSON.parse(readFileSync(file, 'utf8')).body).toBe(body);
    if (process.platform !== 'win32') expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await sisRelay(`letters export --to ${file} --reason r ${stack}`)).toMatchObject({
      status: 1,
      err: expect.stringMatching(/already\s+exists/),
    });
  });
});

describe.concurrent('before anything is changed', () => {
  test('the plan is shown and agreed to', async () => {
    const { office, stack } = await opened();
    await office.park([{}, {}]);
    const declined = await sisRelay(`letters replay --no-probe ${stack}`, { answers: ['no'] });
    expect(declined).toMatchObject({ status: 1, asked: ['Send 2 letters? [y/N] '] });
    expect(declined.out).toMatch(/will be sent[\s\S]*grade-push +rejected +[0-9a-f]{8} +404 Not Found/);
    const nobody = await sisRelay(`letters discard --kind rejected --reason r ${stack}`);
    expect(nobody).toMatchObject({
      status: 1,
      err: expect.stringMatching(/there is no terminal to ask on. Pass --yes/),
    });
    expect(await office.take(office.deadLetters.url)).toHaveLength(2);
  });

  test('and then it is done, and said', async () => {
    const { office, stack } = await opened();
    const [id = ''] = await office.park([{}, {}, { failure: { kind: 'invalid' } }]);
    const { groups } = documentIn<{ groups: { cause: string }[] }>(
      (await sisRelay(`letters groups --json ${stack}`)).out,
    );
    const causes = groups.map(({ cause }) => cause);
    expect((await sisRelay(`letters list --cause ${causes.join()} ${stack}`)).out).toMatch(/^3 letters\.$/m);
    const discarded = await sisRelay(`letters discard --kind rejected --reason "not ours" ${stack}`, {
      answers: ['y'],
    });
    expect(discarded).toMatchObject({
      status: 0,
      out: expect.stringMatching(
        /2 letters were discarded\.\nArchived in:\n {2}s3:\/\/\S+\/\nTo restore them: .*letters import s3:/,
      ),
    });
    expect(await sisRelay(`letters show ${id} ${stack}`)).toMatchObject({
      status: 1,
      out: expect.stringMatching(/no longer a letter[\s\S]*discarded by .*: not ours/),
    });
    for (const command of ['replay --no-probe', 'list', 'groups', 'discard --reason r'])
      expect(await sisRelay(`letters ${command} --cause ${causes[0]} ${stack}`)).toMatchObject({
        status: 1,
        out: expect.stringMatching(
          /^ +2 {2}discarded .* not ours [\s\S]*^What followed for one: .*trace [0-9a-f]{8}/m,
        ),
      });
    expect((await sisRelay(`letters list --cause 00000000 ${stack}`)).out).toMatch(
      /^No letter has this cause\. [\s\S]*letters groups/m,
    );
    const address = /s3:\S+/.exec(discarded.out)?.[0];
    const imported = await sisRelay(`letters import ${address} --yes ${stack}`);
    expect(imported).toMatchObject({
      status: 0,
      out: '2 letters were imported.\n',
      // What was recorded is in the bucket, and for a person one plain line.
      err: expect.stringMatching(/^Recorded as [0-9a-f]{8} by \S+\.\n$/),
    });
    expect(await office.take(office.deadLetters.url)).toHaveLength(3);
  });

  test('publish says what it did, then where that is recorded; the log says what was done to what', async () => {
    const { office, stack } = await opened();
    await office.park([{}]);
    const order: string[] = [];
    const published = await sisRelay(`publish events/grade-push.json --now ${stack}`, {
      onOut: (piece) => order.push(piece),
      onErr: (piece) => order.push(piece),
    });
    expect(published.status, published.err).toBe(0);
    expect(order.at(-1)).toMatch(/^Recorded as [0-9a-f]{8}/);
    await sisRelay(`letters discard --kind rejected --reason ours --yes ${stack}`);
    const log = (await sisRelay(`log --since 1h ${stack}`)).out.replace(/\s+/g, ' ');
    expect(log).toContain('letters discard, kind rejected: discarded 1 “ours”');
    expect(log).toContain('publish, grade-push.json, function grade-push: sent 1');
    const { commands } = JSON.parse((await sisRelay(`log --since 1h --json ${stack}`)).out);
    expect(commands).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          command: 'publish',
          file: 'grade-push.json',
          counts: { sent: 1, failed: 0 },
        }),
      ]),
    );
  });

  test('a replay of which some came back is not done', async () => {
    const { office, stack } = await opened();
    await office.park([{}, {}, {}]);
    const worker = office.work('grade-push', () => ({}));
    const given = '--no-probe --yes --canary 0 --canary-wait 20 --stop-after 9';
    expect(await sisRelay(`letters replay ${given} ${stack}`)).toMatchObject({
      status: 1,
      out: expect.stringMatching(
        / 3 +– +3 +grade-push [\s\S]+They came back as:\n.*\n {6}3 {2}grade-push {2}rejected/,
      ),
    });
    await worker.stop();
  });

  test('--yes does not agree to send the rest of a cause whose canary has no outcome', async () => {
    const { office, stack } = await opened();
    await office.park([{}, {}]);
    const replayed = await sisRelay(`letters replay --no-probe --yes --canary 1 --canary-wait 1 ${stack}`);
    expect(replayed).toMatchObject({ status: 1, asked: ['Send them? [y/N] '] });
    expect(await office.take(office.queueOf('grade-push').url)).toHaveLength(1);
  });

  test('a discard says what was not discarded, be it for its limit or for an interruption', async () => {
    const { office, stack } = await opened();
    await office.park(Array.from({ length: 5 }, () => ({})));
    const discard = `letters discard --all --reason r ${stack}`;
    const limited = await sisRelay(`${discard} --limit 2`, { answers: ['y'] });
    expect(limited.out).toMatch(/as many as were asked for[\s\S]+2 letters were discarded/);
    expect(limited.out).not.toMatch(/there may be more|not discarded/);
    const interrupted = new AbortController();
    const stopped = await sisRelay(`${discard} --yes`, {
      signal: interrupted.signal,
      onErr: (piece) => {
        if (/^Recorded as/.test(piece)) interrupted.abort();
      },
    });
    expect(stopped).toMatchObject({
      status: 1,
      out: expect.stringMatching(/Stopped: it was interrupted\. 3 letters were not discarded\.\n/),
    });
    expect(await office.take(office.deadLetters.url)).toHaveLength(3);
  });

  test('an edit shows what changes, in an editor or without', async () => {
    const { office, stack } = await opened();
    const [first = '', second = ''] = await office.park([{}, {}]);
    const set = await sisRelay(
      `letters edit ${first} --reason r --wait 1 --set data.grade.points=7 --unset data.comments ${stack}`,
      { answers: ['y'] },
    );
    expect(set.out).toMatch(/data\.grade\.points\n {2}- "•••"\n {2}\+ 7\ndata\.comments\n {2}- "•••"\n/);
    const texts: string[] = [];
    const typed = await sisRelay(`letters edit ${second} --reason r --wait 1 ${stack}`, {
      answers: ['y', 'y'],
      edit: (text) => {
        texts.push(text);
        // Its time may hold 8.5, too.
        return texts.length === 1 ? text.replace(' 8.5', ' "many"') : text.replace('"many"', '6');
      },
    });
    expect(typed.asked).toEqual(['Open it again? [Y/n] ', 'Send 1 letter like this? [y/N] ']);
    expect(typed.err).toMatch(/data\.grade\.points: must be a number/);
    const points = (await office.take(office.queueOf('grade-push').url)).map(
      ({ Body = '' }) => JSON.parse(Body).data.grade.points,
    );
    expect(points.sort()).toEqual([6, 7]);
  });

  test('an edit reveals what the message held only to the audit log’s knowledge', async () => {
    const { office, stack } = await opened();
    const [id = ''] = await office.park([{}]);
    const edit = `letters edit ${id} --reason r --unset data.comments ${stack}`;
    for (const json of ['', '--json']) {
      const { out } = await sisRelay(`${edit} ${json}`);
      expect(out).toMatch(/data\.comments/);
      expect(out).not.toMatch(/Jane|revealed/);
    }
    const revealed = await sisRelay(`${edit} --reveal`, { answers: ['n'] });
    expect(revealed.out).toMatch(/- "Well argued, Jane"/);

    const entries = async () =>
      [...(await office.objects('audit/')).values()].map((line) => JSON.parse(line));
    let before: unknown[] = [];
    const opens = await sisRelay(`letters edit ${id} --reason r ${stack}`, {
      edit: async (text) => {
        before = await entries();
        return text;
      },
    });
    expect(opens.err).toMatch(/Nothing was changed/);
    expect(before).toContainEqual(
      expect.objectContaining({
        audit: 'begin',
        command: 'letters edit',
        letters: [id],
        counts: { planned: 1, revealed: 1 },
      }),
    );
    const audited = await entries();
    expect(audited).toContainEqual(
      expect.objectContaining({ audit: 'end', letters: [id], counts: { sent: 0, revealed: 1 } }),
    );
  });

  test('an edit that makes different values one needs a yes of its own, or its own option', async () => {
    const { office, stack } = await opened();
    const bodies = ['8,5', '9,25', '3,0'].map((points) =>
      eventBody().replace('"points":8.5', `"points":"${points}"`),
    );
    await office.park(bodies.map((body) => ({ body, failure: { kind: 'invalid' as const } })));
    const edit = `letters edit --kind invalid --reason r --wait 1 --set data.grade.points=7 ${stack}`;
    const mergeText = '3 different values of data.grade.points become one.';
    const asked = await sisRelay(`${edit} --yes`, { answers: ['n'] });
    expect(asked.asked).toEqual(['Give 3 letters the same value? [y/N] ']);
    expect(asked.out.split(mergeText)).toHaveLength(3);
    const unasked = await sisRelay(`${edit} --yes`);
    expect(unasked).toMatchObject({ status: 1, err: expect.stringMatching(/Pass\s--same-value/) });
    expect(await office.take(office.queueOf('grade-push').url)).toEqual([]);
    await sisRelay(`${edit} --yes --same-value`);
    expect(await office.take(office.queueOf('grade-push').url)).toHaveLength(3);
  });

  test('an edit that is not valid sends nothing', async () => {
    const { office, stack } = await opened();
    const [id] = await office.park([{}]);
    const { status, err } = await sisRelay(
      `letters edit ${id} --reason r --yes --set data.userId=x ${stack}`,
    );
    expect(status).toBe(1);
    expect(err).toMatch(
      /Nothing was sent\. The message is not valid: data\.userId: must be a positive whole number/,
    );
    expect(await office.take(office.deadLetters.url)).toHaveLength(1);
  });
});

test.concurrent('publish takes the project’s own examples, and tells errors by line', async () => {
  const { office, stack } = await opened();
  const example = resolve(import.meta.dirname, '../../../../events/grade-push.json');
  expect(await sisRelay(`publish ${example} ${stack}`)).toMatchObject({
    status: 0,
    out: expect.stringMatching(
      /^1 message is older [\s\S]*\n1 valid message \(1 for grade-push\), 0 not valid; 1 sent\.\n1 message is the same each time that you publish this file\. What was done before is not done again\.\n {2}line 1: grade-push \S+\n$/,
    ),
  });
  const old = await sisRelay(`publish ${example} --dry-run ${stack}`);
  expect(old.out).toMatch(/^1 message is older than 34 days. Such a message is parked as outdated/);
  expect((await sisRelay(`publish ${example} --dry-run --now ${stack}`)).out).toMatch(
    /^1 valid message.*\n1 message has the time of publishing, and so replaces what was sent before\.\n$/,
  );
  const file = join(folder, 'bad.jsonl');
  writeFileSync(file, `${eventBody()}\n{`);
  const refused = await sisRelay(`publish ${file} ${stack}`);
  expect(refused).toMatchObject({
    status: 1,
    out: expect.stringMatching(/^line 2: is not JSON\n1 valid message.*0 sent\.\nNothing was sent, because/),
  });
  expect(await office.take(office.queueOf('grade-push').url)).toHaveLength(1);
});

test.concurrent('publish tells the ids of what it sent: all in JSON, the first twenty to a person', async () => {
  const { office, stack } = await opened();
  const bodies = Array.from({ length: 25 }, () => eventBody());
  const stdin = bodies.map((body) => `${body}\n`).join('');
  const { out, status } = await sisRelay(`publish - --format jsonl --json ${stack}`, { stdin });
  expect(status).toBe(0);
  const { messages } = documentIn<{ messages: object[] }>(out);
  const taken = await office.take(office.queueOf('grade-push').url);
  const messageIdOf = new Map(taken.map(({ Body, MessageId }) => [Body, MessageId]));
  expect(messages).toEqual(
    bodies.map((body, at) => ({
      line: at + 1,
      function: 'grade-push',
      eventId: JSON.parse(body).id,
      messageId: messageIdOf.get(body),
    })),
  );
  const again = await sisRelay(`publish - --format jsonl ${stack}`, { stdin });
  expect(again.out).toMatch(/ 25 sent\.\n25 messages are the same each time /);
  expect(again.out).toContain(`\n  line 1: grade-push ${JSON.parse(bodies[0] ?? '').id}\n`);
  expect(again.out).toMatch(/ {2}line 20: .*\n {2}… and 5 more: --json prints the ids of all\n$/);
  expect((await sisRelay(`publish - --format jsonl --dry-run ${stack}`, { stdin })).out).not.toContain(
    'line 1',
  );
});

describe.concurrent('standard input and output may be data', () => {
  test('of a table to publish, which is checked as a whole before any of it is sent', async () => {
    const { office, stack } = await opened();
    const header = 'orgUnitId,gradeObjectId,userId,grade.type,grade.points';
    const publish = `publish - --format csv --function grade-push ${stack}`;
    const bad = await sisRelay(publish, {
      stdin: `${header}\n2001,5001,301,numeric,1\n2001,5001,x,numeric,1\n`,
    });
    expect(bad).toMatchObject({ status: 1, out: expect.stringMatching(/^line 3: data\.userId/) });
    expect(await sisRelay(publish, { stdin: `${header}\n2001,5001,301,numeric,1\n` })).toMatchObject({
      status: 0,
    });
    expect(await office.take(office.queueOf('grade-push').url)).toHaveLength(1);
    expect(await sisRelay(`publish - ${stack}`, { stdin: '{}' })).toMatchObject({
      status: 2,
      err: expect.stringMatching(
        /^The format of the standard input is not known\. Pass --format json\|jsonl\|csv/,
      ),
    });
  });

  test('of letters, which are exported and imported without a word between them', async () => {
    const { office, stack } = await opened();
    const body = eventBody('grade-push', { comments: 'Dear Jane' });
    await office.park([{ body }, {}]);
    for (const json of ['', ' --json']) {
      const exported = await sisRelay(`letters export --to - --reason r --user 301${json} ${stack}`);
      const lines = documentsIn(exported.out);
      expect(lines).toHaveLength(2);
      expect(lines.map((line) => line.body)).toContain(body);
      expect(exported.err).toMatch(
        json === '' ? /2 letters were written to standard output/ : /"exported":2/,
      );
      if (json !== '') continue;
      await office.take(office.deadLetters.url);
      const asked = await sisRelay(`letters import - ${stack}`, { stdin: exported.out });
      expect(asked.err).toMatch(/there is no terminal to ask on/);
      const imported = await sisRelay(`letters import - --yes ${stack}`, { stdin: exported.out });
      expect(imported).toMatchObject({ status: 0, out: '2 letters were imported.\n' });
    }
  });
});

test.concurrent('what to type next has the deployment that was given, and nothing to fill in', async () => {
  const { office, stack } = await opened();
  const [id = ''] = await office.park([{}]);
  const groups = (await sisRelay(`letters groups ${stack}`)).out.replace(/\s+/g, ' ');
  const [, cause = ''] = /rejected ([0-9a-f]{8}) /.exec(groups) ?? [];
  expect(groups).toContain(`sis-relay letters list --cause ${cause} ${stack} `);
  expect(groups).toContain(`sis-relay letters replay --cause ${cause} ${stack} `);
  const list = (await sisRelay(`letters list ${stack}`)).out.replace(/\s+/g, ' ');
  expect(list).toContain(`sis-relay letters show ${id.slice(0, 8)} ${stack} `);
  const status = (await sisRelay(`status ${stack}`)).out.replace(/\s+/g, ' ');
  expect(status).toContain(`sis-relay letters groups ${stack} `);
  for (const said of [groups, list, status]) expect(said).not.toMatch(/<(?!1 min)/);
});

test.concurrent('help tells of a command within another, as --help does', async () => {
  for (const command of ['', 'letters', 'letters replay', 'publish']) {
    const { out } = await sisRelay(`${command} --help`);
    expect(await sisRelay(`help ${command}`)).toMatchObject({ status: 0, err: '', out });
  }
});

describe.concurrent('that the audit log cannot be written is said before a letter is read', () => {
  const file = join(folder, 'no-bucket.json');
  let office: Office;
  beforeAll(async () => {
    office = await offices.open();
    await office.park([{}]);
    writeFileSync(file, JSON.stringify({ ...office.description(), bucket: 'no-such-bucket' }));
  });
  afterAll(async () => {
    const [{ Attributes } = {}] = await office.take(office.deadLetters.url);
    expect(Attributes?.ApproximateReceiveCount).toBe('1');
  });
  test.each([
    'letters replay --no-probe --yes',
    'letters discard --all --reason r --yes',
    'letters edit abcd --reason r --set data.userId=1 --yes',
    'letters export --to - --reason r',
    'letters show abcd --reveal --reason r',
  ])('by %s', async (line) => {
    const { status, out, err } = await sisRelay(`${line} --stack ${file}`);
    expect({ status, out }).toEqual({ status: 1, out: '' });
    expect(err).toMatch(/^There is no such bucket/);
  });
});

test.concurrent('an export says that letters match which somebody else has, or had, in hand', async () => {
  const { office, stack } = await opened();
  await office.park([{}, {}]);
  await office.take(office.deadLetters.url);
  const file = join(folder, 'gone.jsonl');
  const none = await sisRelay(`letters export --to ${file} --reason r ${stack}`);
  expect(none.status).toBe(1);
  expect(none.out.replace(/\s+/g, ' ')).toBe(
    `Nothing was written to ${file}. 2 letters that match could not be read: they are no longer in the queue, or another operator has them in hand. Run the same command again later. `,
  );
  await office.park([{}]);
  const one = await sisRelay(`letters export --to ${file} --reason r ${stack}`);
  expect(one.status).toBe(0);
  expect(one.out.replace(/\s+/g, ' ')).toMatch(
    /^1 letter was written to .* It holds.*2 letters that match could not be read/,
  );
  expect((await sisRelay(`letters export --kind crashed --to - --reason r ${stack}`)).err).toMatch(
    /^No letter matches, so nothing was written to standard output\.$/m,
  );
});

test.concurrent('an import of a file without letters says so', async () => {
  const { stack } = await opened();
  const file = join(folder, 'empty.jsonl');
  writeFileSync(file, '\n\n');
  for (const options of ['', '--dry-run', '--yes']) {
    const { status, out, err, asked } = await sisRelay(`letters import ${file} ${options} ${stack}`);
    expect({ status, err, asked }).toEqual({ status: 1, err: '', asked: [] });
    expect(out.replace(/\s+/g, ' ')).toBe(`${file} holds no letters, so nothing was imported. `);
  }
});

test.concurrent('an export is taken back, whatever line ends its messages hold', async () => {
  const { office, stack } = await opened();
  const bodies = ['a\u2028b\u2029c\r\u0085d\n', 'é'.repeat(100_000)];
  await office.park(bodies.map((body) => ({ body })));
  const file = join(folder, 'line-ends.jsonl');
  await sisRelay(`letters export --to ${file} --reason r ${stack}`);
  await office.take(office.deadLetters.url);
  expect(await sisRelay(`letters import ${file} --yes ${stack}`)).toMatchObject({ status: 0 });
  const back = await office.take(office.deadLetters.url);
  expect(back.map(({ Body }) => Body).sort()).toEqual(bodies);
});

test.concurrent('an import says before it sends which messages are older than what the ledger remembers', async () => {
  const { office, stack } = await opened();
  const file = join(folder, 'outdated.jsonl');
  const daysAgo = (days: number) => new Date(Date.now() - days * 24 * 3_600_000).toISOString();
  const line = (time: unknown) =>
    JSON.stringify({ body: eventBody('grade-push', {}, { time }), attributes: {}, source: '' });
  const old = [daysAgo(35), daysAgo(300)];
  const lines = [...old, daysAgo(33), 'never', 7].map(line);
  writeFileSync(file, [...lines, JSON.stringify({ body: 'no JSON', attributes: {}, source: '' })].join('\n'));
  const warning = /2 messages are older than 34 days: .* Check the platform before you replay them\./;
  const asked = await sisRelay(`letters import ${file} ${stack}`, { answers: ['n'] });
  expect(asked.asked).toEqual(['Import 6 letters? [y/N] ']);
  expect(asked.err.replace(/\s+/g, ' ')).toMatch(warning);
  expect(asked.err).toContain(
    `line 1: its message is from ${old[0]}\nline 2: its message is from ${old[1]}\n`,
  );
  expect(asked.err).not.toContain('line 3');
  expect((await sisRelay(`letters import ${file} --dry-run ${stack}`)).err.replace(/\s+/g, ' ')).toMatch(
    warning,
  );
  expect(await office.take(office.deadLetters.url)).toEqual([]);
  expect(documentIn((await sisRelay(`letters import ${file} --yes --json ${stack}`)).out)).toEqual({
    outdated: old.map((time, at) => ({ line: at + 1, time })),
    ledgerMemoryDays: 34,
    letters: 6,
    imported: 6,
    problems: [],
  });
  writeFileSync(file, line(daysAgo(33)));
  expect((await sisRelay(`letters import ${file} --dry-run ${stack}`)).err).not.toMatch(/older/);
});

test.concurrent('an import with a bad line changes nothing', async () => {
  const { stack } = await opened();
  const file = join(folder, 'letters.jsonl');
  writeFileSync(file, 'x\n');
  expect(await sisRelay(`letters import ${file} --yes ${stack}`)).toMatchObject({
    status: 1,
    out: expect.stringMatching(/^line 1: is not JSON\n0 letters can be imported. Nothing was imported/),
  });
  expect(await sisRelay(`letters import ${join(folder, 'none')} ${stack}`)).toMatchObject({
    status: 2,
    err: expect.stringMatching(/There is no file\s/),
  });
});

describe.concurrent('nothing that a terminal obeys is printed, whoever wrote it', () => {
  /** The ends of our own lines are all that there is. */
  const controls = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
  // ESC, C1, and marks that turn the direction of what follows.
  const inSqs = '\u009B31m\u0085\u202Eevil\u2066\u200F\u{E0041}';
  const hostile = `\u001B]0;x\u0007\u001B[2J${inSqs}`;

  test('of a file to publish', async () => {
    const { stack } = await opened();
    const file = join(folder, 'hostile.csv');
    writeFileSync(file, `orgUnitId,${hostile}\n1,2\n`);
    for (const json of ['', '--json ']) {
      const { status, out, err } = await sisRelay(`publish ${file} --function grade-push ${json}${stack}`);
      expect(status).toBe(2);
      expect(err.replace(/\s+/g, ' ')).toMatch(/has columns that grade-push does not know: .*evil/);
      expect(out + err).not.toMatch(controls);
    }
    const said = await sisRelay(`publish ${file} --function ${hostile} ${stack}`);
    expect(said.err).toMatch(/There is no function .*evil/);
    expect(said.out + said.err).not.toMatch(controls);
  });

  test.each([
    'groups',
    'list',
    'show',
    'show --reveal --reason r',
    'replay --dry-run --no-probe',
    'edit',
    'discard',
  ])('of letters, as text and as JSON: letters %s', async (command) => {
    const words = { title: 'Not Found', detail: hostile, remedy: hostile, message: hostile };
    const attributes = { trace: { DataType: 'String', StringValue: inSqs } };
    const body = eventBody('grade-push', {}, { extension: hostile });
    const { office, stack } = await opened();
    for (const json of ['', '--json ']) {
      const [id = ''] = await office.park([{ failure: { ...words, status: 404 }, attributes, body }]);
      const line = command
        .replace(/^(show|edit)/, `$1 ${id}`)
        .replace(/^edit.*/, `$& --reveal --wait 1 --set data.comments=${hostile}`)
        .replace(/^discard/, 'discard --all')
        .replace(/^(edit|discard).*/, `$& --yes --reason ${hostile}`);
      const { out, err } = await sisRelay(`letters ${line} ${json}${stack}`);
      expect(out).not.toBe('');
      expect(out + err).not.toMatch(controls);
      if (json !== '' && command.startsWith('show'))
        expect(documentsIn(out).at(-1)).toMatchObject({ remedy: expect.stringContaining(inSqs) });
    }
  });

  test('of letters in a file that was exported', async () => {
    const { office, stack } = await opened();
    await office.park([{ body: `"${inSqs}"` }]);
    const file = join(folder, 'hostile.jsonl');
    await sisRelay(`letters export --to ${file} --reason r ${stack}`);
    expect(readFileSync(file, 'utf8')).not.toMatch(controls);
  });

  test('and colours are ours alone', () => {
    const said: string[] = [];
    const plainly = guarded({
      ...quietTerminal,
      out: (text: string) => said.push(text),
      line: (text: string) => said.push(text),
      isLive: true,
      width: 100,
      signal: never,
      style: (format, text) => styleText(format, text, { validateStream: false }),
      ask: async (question) => {
        said.push(question);
        return undefined;
      },
      edit: async (text) => text,
    });
    plainly.out(`${plainly.style('red', 'red')} \u001B[5mblinking\u001B[0m\n`);
    plainly.line(`Reading \u001B[5m1\r`);
    plainly.ask('Who? \u001B[2J');
    expect(said).toEqual(['\u001B[31mred\u001B[39m blinking\n', 'Reading 1 ', 'Who? ']);
  });
});

test.each([
  [
    "Cannot find package 'zod' imported from /a",
    'ERR_MODULE_NOT_FOUND',
    /^The package zod is not installed\. Run `npm ci`/,
  ],
  [
    'Unexpected token',
    'ERR_INVALID_TYPESCRIPT_SYNTAX',
    /^A source of sis-relay cannot be read: .*source\.ts:3/,
  ],
  ['ENOSPC: no space left on device, write', 'ENOSPC', /^A disk is full \(ENOSPC\)\. Make room/],
  ["EACCES: permission denied, open '/a'", 'EACCES', /^EACCES: permission denied, open '\/a'$/],
])('what is wrong with this machine is said with the remedy: %s', (message, code, sentence) => {
  const error = Object.assign(new Error(message), { code });
  if (code.includes('TYPESCRIPT')) error.stack = `/lib/source.ts:3\nconst = ;\n    at load (node:internal)`;
  expect(errorSentence(error, {})).toMatch(sentence);
});

describe.concurrent('what AWS says is told in a sentence, with status 1', () => {
  test('where nothing answers', async () => {
    const { office } = await opened();
    const stack = stackOf(office, 'http://127.0.0.1:9');
    const { status, err } = await sisRelay(`letters groups ${stack}`);
    expect(status).toBe(1);
    expect(err).toMatch(
      /The stack on this machine does not answer \(ECONNREFUSED\). Is `npm run local` still running\?/,
    );
  });

  test.each([
    ['ExpiredToken', /^Your AWS credentials have expired. Log in again/],
    ['InvalidClientTokenId', /^AWS does not accept your credentials: /],
  ])('where the credentials are refused as %s', async (type, sentence) => {
    const { office, stack } = await opened();
    const name = office.deadLetters.url.split('/').at(-1);
    await office.fault({ action: 'GetQueueAttributes', name, status: 403, type });
    expect(await sisRelay(`letters groups ${stack}`)).toMatchObject({
      status: 1,
      err: expect.stringMatching(sentence),
    });
  });

  test('where something is not allowed', async () => {
    const { office, stack } = await opened();
    const name = office.deadLetters.url.split('/').at(-1);
    await office.fault({ action: 'GetQueueAttributes', name, status: 403, type: 'AccessDenied' });
    expect(await sisRelay(`letters groups ${stack}`)).toMatchObject({
      status: 1,
      err: expect.stringMatching(/^AWS does not allow you to do this/),
    });
  });

  test('where S3 does not tell what is missing from what is not allowed', async () => {
    const { office, stack } = await opened();
    const file = `s3://${office.bucket}/discarded/none/0001.jsonl`;
    const name = file.slice('s3://'.length);
    await office.fault({ action: 'GetObject', name, status: 403, type: 'AccessDenied' });
    const { err } = await sisRelay(`letters import ${file} --yes ${stack}`);
    expect(err).toContain(`${file} does not exist, or you may not read it.`);
  });
});

/** The command between pipes: with its own terminal, and the streams and signals of a process that is none. */
function piped(line: string, env: NodeJS.ProcessEnv = {}) {
  const streams = { stdin: Readable.from([]), stdout: new PassThrough(), stderr: new PassThrough() };
  const person = Object.assign(new EventEmitter(), streams, { env });
  const said = { out: '', err: '' };
  streams.stdout.on('data', (piece) => {
    said.out += piece;
  });
  streams.stderr.on('data', (piece) => {
    said.err += piece;
  });
  const ended = run(line.split(' '), terminalOf(person as unknown as NodeJS.Process)).then((status) => ({
    status,
    out: () => said.out,
    err: () => said.err,
  }));
  return { person, stdout: streams.stdout, ended };
}

describe.concurrent('the program itself', () => {
  test('prints no colours into a pipe, and cuts nothing there', async () => {
    const { office, stack } = await opened();
    const detail = `${'a very long word '.repeat(20)}at last`;
    await office.park([{ failure: { detail } }]);
    for (const command of ['groups', 'list', 'discard --all --reason r --dry-run']) {
      const { status, out } = await piped(`letters ${command} ${stack}`).ended;
      expect(status).toBe(0);
      expect(out()).toMatch(/rejected/);
      expect(out()).toContain(detail);
      expect(out()).not.toContain('\u001B');
    }
  });

  test('needs Node 24, and says so in words', () => {
    const older = `Object.defineProperty(process.versions, 'node', { value: '20.1.0' })`;
    const { status, stderr } = spawnSync(
      process.execPath,
      ['--import', `data:text/javascript,${encodeURIComponent(older)}`, bin],
      { encoding: 'utf8' },
    );
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: expect.stringMatching(
        /^sis-relay needs Node 24 or newer.* Run `npx sis-relay` in the project’s folder/,
      ),
    });
  });

  test('opens no editor where there is no terminal, and reveals nothing', async () => {
    const { office, stack } = await opened();
    const [id = ''] = await office.park([{}]);
    const { status, err } = await piped(`letters edit ${id} --reason r ${stack}`).ended;
    expect(status).toBe(1);
    expect(err()).toMatch(
      /^Nothing was changed: there is no terminal to open an editor on\. Pass --set, .*\s--unset\.$/ms,
    );
    expect(err()).not.toContain('Recorded');
    expect(await office.take(office.deadLetters.url)).toHaveLength(1);
  });

  test('tells its version', async () => {
    const version = versionText(ownVersion());
    for (const option of ['--version', '-v'])
      expect(await sisRelay(option)).toMatchObject({ status: 0, err: '', out: `${version}\n` });
  });

  test('says what to type next as it was started: by npx, or by its name alone', async () => {
    const { office, stack } = await opened();
    const [id = ''] = await office.park([{}]);
    const line = `letters list ${stack}`;
    const hint = `sis-relay letters show ${id.slice(0, 8)} ${stack}\n`;
    expect((await piped(line, { npm_command: 'exec' }).ended).out()).toContain(`: npx ${hint}`);
    expect((await piped(line, { npm_command: 'run' }).ended).out()).toContain(`: ${hint}`);
  });

  test('stops where nobody reads on, and leaves no letter hidden', async () => {
    const { office, stack } = await opened();
    await office.park(Array.from({ length: 12 }, () => ({})));
    const { stdout, ended } = piped(`letters replay --no-probe --yes --canary 0 --rate 10 ${stack}`);
    stdout.once('data', () => stdout.emit('error', Object.assign(new Error('write'), { code: 'EPIPE' })));
    expect((await ended).status).toBe(1);
    const sent = await office.take(office.queueOf('grade-push').url);
    expect(await office.take(office.deadLetters.url)).toHaveLength(12 - sent.length);
  });

  test('stops where the output cannot be written, says so, and leaves no letter hidden', async () => {
    const { office, stack } = await opened();
    await office.park(Array.from({ length: 3 }, () => ({})));
    const { person, stdout, ended } = piped(`letters export --to - --reason r ${stack}`);
    stdout.once('data', () => stdout.emit('error', Object.assign(new Error('write'), { code: 'ENOSPC' })));
    const { status, err } = await ended;
    expect([status, person]).toEqual([1, expect.objectContaining({ exitCode: 1 })]);
    expect(err()).toContain('The output cannot be written (ENOSPC), so the command stops.');
    expect(await office.take(office.deadLetters.url)).toHaveLength(3);
  });

  test('stops at Ctrl-C, says what was done and what was not, and leaves no letter hidden', async () => {
    const { office, stack } = await opened();
    await office.park(Array.from({ length: 20 }, () => ({})));
    const { person, ended } = piped(`letters replay --no-probe --yes --canary 0 --rate 3 ${stack}`);
    const queue = { sqs: await office.target.sqs(), url: office.queueOf('grade-push').url };
    while ((await countsOf(queue)).visible === 0) await sleep(20);
    person.emit('SIGINT', 'SIGINT');
    const { status, out, err } = await ended;
    expect(status).toBe(130);
    expect(err()).toMatch(/Stopping after the requests in progress/);
    const [, sent, left] =
      /^ *(\d+) .* (\d+) {2}grade-push {2}rejected/m.exec(out().split('interrupted')[1] ?? '') ?? [];
    expect(out()).toMatch(/Stopped: it was interrupted\./);
    expect(Number(sent) + Number(left)).toBe(20);
    expect(await office.take(office.deadLetters.url)).toHaveLength(Number(left));
    expect(await office.take(office.queueOf('grade-push').url)).toHaveLength(Number(sent));
  });
});
