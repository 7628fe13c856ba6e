import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { integration as enrollmentCreate } from '../../../functions/enrollment-create.ts';
import { integration as gradePush } from '../../../functions/grade-push.ts';
import { integration as profileImageUpdate } from '../../../functions/profile-image-update.ts';
import { integration as submissionUpload } from '../../../functions/submission-upload.ts';
import { MessageFailure } from '../../../lib/message/failure.ts';
import {
  draftOf,
  eventIdIn,
  FileNotice,
  fieldOf,
  type Message,
  messageType,
  parseMessage,
  platformId,
} from '../../../lib/message/message.ts';
import {
  decodeVersion,
  identityDigest,
  identityOf,
  isLater,
  isSameMessage,
  shortVersion,
  unorderedVersionOf,
  versionOf,
  withoutSource,
} from '../../../lib/message/version.ts';
import { inTopic, noticeOf, onBus, testOfS3 } from '../../envelopes.ts';
import { runs } from '../../seed.ts';

const now = '2026-06-01T12:00:00Z';

type Definition = { name: string; data: z.ZodType };

const enrollment = { orgUnitId: 2001, userId: 303, roleId: 110 };
const gradeIds = { orgUnitId: 2001, gradeObjectId: 5001, userId: 301 };
const numeric = { type: 'numeric', points: 8.5 };
const file = { uri: 's3://uploads/essay.pdf', name: 'essay.pdf', contentType: 'application/pdf' };
const submission = { orgUnitId: 2001, folderId: 7001, userId: 301, files: [file] };
const portrait = { userId: 301, file: { uri: 's3://uploads/portrait.png', contentType: 'image/png' } };

const eventOf = ({ name }: { name: string }, data: unknown, more: object = {}) => ({
  specversion: '1.0',
  id: 'e-1',
  source: 'https://sis.example.edu',
  type: messageType(name),
  time: '2026-06-01T10:00:00Z',
  data,
  ...more,
});

const parsed = (integration: Definition, event: unknown): Message<unknown> =>
  parseMessage(typeof event === 'string' ? event : JSON.stringify(event), integration, Date.parse(now));

/** The problems that the refusal lists, as one text; `taken` where the message is valid. */
const problems = (integration: Definition, event: unknown): string => {
  try {
    parsed(integration, event);
    return 'taken';
  } catch (error) {
    if (!(error instanceof MessageFailure) || error.kind !== 'invalid') throw error;
    return error.message.replace(/^The message is not valid: /, '');
  }
};

const enrollmentProblems = (more: object) =>
  problems(enrollmentCreate, eventOf(enrollmentCreate, enrollment, more));
const gradeProblems = (data: object) => problems(gradePush, eventOf(gradePush, { ...gradeIds, ...data }));
const submissionProblems = (data: object) =>
  problems(submissionUpload, eventOf(submissionUpload, { ...submission, ...data }));

/** A body with other JSON in the place of one value, as JSON.stringify cannot write it. */
const bodyWith = (json: string, where: 'data' | 'extension' | 'roleId' = 'extension') =>
  JSON.stringify(
    where === 'roleId'
      ? eventOf(enrollmentCreate, { ...enrollment, roleId: '@' })
      : eventOf(enrollmentCreate, enrollment, { [where]: '@' }),
  ).replace('"@"', json);

describe('a message', () => {
  test('has the id, source, time and sequence of its envelope, its data, and no extension', () => {
    const more = { sequence: '7', subject: 'x', nested: { data: [1, null] }, count: 3, none: null };
    expect(parsed(enrollmentCreate, eventOf(enrollmentCreate, enrollment, more))).toEqual({
      id: 'e-1',
      source: 'https://sis.example.edu',
      time: '2026-06-01T10:00:00Z',
      sequence: '7',
      data: enrollment,
    });
  });

  const unknown: [string, Definition, object][] = [
    ['data.weight', gradePush, { ...gradeIds, grade: numeric, weight: 1 }],
    ['data.grade.max', gradePush, { ...gradeIds, grade: { ...numeric, max: 10 } }],
    ['data.RoleId', enrollmentCreate, { ...enrollment, RoleId: 1 }],
    ['data.files[1].size', submissionUpload, { ...submission, files: [file, { ...file, size: 1 }] }],
    ['data.file.name', profileImageUpdate, { userId: 301, file: { ...portrait.file, name: 'me' } }],
  ];
  test.each(unknown)('with the field %s, which is not known, is refused by its name', (field, its, data) => {
    expect(problems(its, eventOf(its, data))).toBe(`${field}: is not a known field`);
  });

  test.each(['sis.grade-push.v1', 'sis.enrollment-create.v2', 'sis.Enrollment-create.v1'])(
    'of another kind is refused: %s',
    (type) =>
      expect(enrollmentProblems({ type, data: 1 })).toBe(
        'type: must be sis.enrollment-create.v1 on this queue',
      ),
  );
});

describe('the envelope', () => {
  test.each([
    [{ specversion: undefined }, 'specversion: is missing: expected "1.0"'],
    [{ specversion: '0.3' }, 'specversion: expected "1.0"'],
    [{ id: undefined }, 'id: is missing: expected string'],
    [{ id: '' }, 'id: too small: expected string to have >=1 characters'],
    [{ id: 7 }, 'id: expected string, received number'],
    [{ id: 'x'.repeat(257) }, 'id: too big: expected string to have <=256 characters'],
    [{ id: '\ud800' }, 'id: must be well-formed Unicode'],
    [{ source: '' }, 'source: too small: expected string to have >=1 characters'],
    [{ source: 'x'.repeat(2049) }, 'source: too big: expected string to have <=2048 characters'],
    [{ source: null }, 'source: expected string, received null'],
    [{ type: undefined }, 'type: is missing: must be sis.enrollment-create.v1 on this queue'],
    [{ type: 3 }, 'type: must be sis.enrollment-create.v1 on this queue'],
    [{ sequence: 5 }, 'sequence: expected string, received number'],
    [{ sequence: '1'.repeat(257) }, 'sequence: too big: expected string to have <=256 characters'],
    [{ data: undefined }, 'data: is missing: expected object'],
    [{ data: null }, 'data: expected object, received null'],
    [{ data: [] }, 'data: expected object, received array'],
  ])('with %o is refused: %s', (change, problem) => {
    expect(enrollmentProblems(change)).toBe(problem);
  });

  test('of which much is wrong is told all of it at once', () => {
    expect(problems(enrollmentCreate, {}).split('; ')).toHaveLength(6);
  });

  test('takes an attribute that is null for one that is left out, as CloudEvents says', () => {
    const event = eventOf(enrollmentCreate, enrollment, { sequence: null, datacontenttype: null });
    expect(parsed(enrollmentCreate, event).sequence).toBeUndefined();
  });

  const wrongType = 'datacontenttype: must be application/json';
  test.each([
    ['application/json', 'taken'],
    ['application/json ;charset=utf-8', 'taken'],
    ['Application/JSON', 'taken'],
    ['application/vnd.example.edu.grade-v1+json; x=y', 'taken'],
    ['application/xml', wrongType],
    ['application/jsonp', wrongType],
    ['application/json-seq', wrongType],
    ['json', wrongType],
    ['x application/json', wrongType],
  ])('with data of the type %j is %s', (datacontenttype, problem) => {
    expect(enrollmentProblems({ datacontenttype })).toBe(problem);
  });

  test('with data of a type of a million characters is refused', () => {
    const datacontenttype = `application/${'a+'.repeat(500_000)}`;
    expect(enrollmentProblems({ datacontenttype })).toMatch(/^datacontenttype: /);
  });

  test.each([
    '2026-01-31T09:30:00Z',
    '2026-01-31T09:30:00-23:59',
    '2026-01-31T09:30:00.123456789+05:45',
    '2024-02-29T00:00:00Z',
  ])('has a time as in %s', (time) => {
    expect(parsed(enrollmentCreate, eventOf(enrollmentCreate, enrollment, { time })).time).toBe(time);
  });

  test.each([
    ['without offset', '2026-01-31T09:30:00'],
    ['of a day alone', '2026-01-31'],
    ['of a day that there is not', '2026-02-29T00:00:00Z'],
    ['of an hour that there is not', '2026-01-31T24:00:00Z'],
    ['of an offset that there is not', '2026-01-31T09:30:00+24:00'],
    ['in seconds', 1769851800],
    ['of nothing', null],
  ])('a time %s is refused', (_, time) => {
    expect(enrollmentProblems({ time })).toBe('time: must be a time such as 2026-01-31T09:30:00Z');
  });

  test('a time has 64 characters at most', () => {
    const time = (digits: number) => `2026-01-31T09:30:00.${'1'.repeat(digits)}Z`;
    expect(enrollmentProblems({ time: time(43) })).toBe('taken');
    expect(enrollmentProblems({ time: time(44) })).toBe('time: must be at most 64 characters');
  });

  test("a time may be an hour ahead of our clock, for a producer's that runs fast, and not a moment more", () => {
    expect(enrollmentProblems({ time: '2026-06-01T15:00:00+02:00' })).toBe('taken');
    const ahead = 'time: must not be more than an hour in the future';
    expect(enrollmentProblems({ time: '2026-06-01T13:00:00.001Z' })).toBe(ahead);
    expect(enrollmentProblems({ time: '2026-06-01T13:00:00-00:01' })).toBe(ahead);
  });
});

describe('a body', () => {
  test.each(['', '{"specversion":"1.0"', "{'specversion':'1.0'}", '\uFEFF{}', 'NaN', 'specversion=1.0'])(
    'that is not JSON is refused: %s',
    (body) => expect(problems(enrollmentCreate, body)).toBe('the body is not JSON'),
  );

  test.each([
    ['null', 'null'],
    ['string', '"text"'],
    ['array', JSON.stringify([eventOf(enrollmentCreate, enrollment)])],
  ])('that is JSON but no object is refused: %s', (type, body) => {
    expect(problems(enrollmentCreate, body)).toBe(`the body: expected object, received ${type}`);
  });

  const fill = (count: number, each: (at: number) => string) =>
    Array.from({ length: count }, (_, at) => each(at)).join();
  const lists = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
  const objects = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
  const brackets = `\\"${'[{,'.repeat(100_000)}\\`;

  // The event itself is a level.
  test.each([
    ['lists of 64 levels', lists(63)],
    ['objects of 64 levels', objects(63)],
    ['brackets within texts', JSON.stringify([brackets, brackets, { [brackets]: brackets }])],
    ['1,000 lists', `[${fill(1_000, () => '[{}]')}]`],
    ['9,000 values', `[${fill(9, () => `[${fill(1_000, () => '0')}]`)}]`],
    ['1 MiB', `"${'x'.repeat(1024 ** 2 - 400)}"`],
  ])('is taken with %s', (_, inner) => {
    expect(problems(enrollmentCreate, bodyWith(inner))).toBe('taken');
  });

  const deep = 'is nested deeper than 64 levels';
  const many = 'has more than 10,000 values';
  const wide = 'has a list or an object of more than 1,000';
  test.each<[string, string, string]>([
    ['lists of 65 levels', lists(64), deep],
    ['objects of 65 levels', objects(64), deep],
    ['half a million brackets that nothing closes', '['.repeat(500_000), deep],
    ['as many levels as SQS lets it have', `${'[{"a":'.repeat(100_000)}1${'}]'.repeat(100_000)}`, deep],
    ['344,000 empty objects', `[${fill(344_000, () => '{}')}]`, many],
    ['half a million numbers', `[${fill(500_000, () => '0')}]`, many],
    ['100,000 fields that nothing closes', `{${fill(100_000, (at) => `"${at}":0`)}`, many],
    ['11 lists of 1,000', `[${fill(11, () => `[${fill(1_000, () => '0')}]`)}]`, many],
    ['one list of 1,001', `[${fill(1_001, () => '0')}]`, wide],
    ['one object of 1,001 within', `[[{${fill(1_001, (at) => `"${at}":0`)}}]]`, wide],
  ])('is refused for %s alone, in an envelope as well', (_, inner, problem) => {
    expect(problems(enrollmentCreate, bodyWith(inner))).toBe(`the body ${problem}`);
    expect(problems(enrollmentCreate, bodyWith(inner, 'data'))).toBe(`the body ${problem}`);
    expect(problems(enrollmentCreate, inTopic(bodyWith(inner)))).toBe(
      `the body is a notification of SNS whose Message ${problem}`,
    );
  });

  test.each([
    ['too many values', `[${fill(20_000, () => '[]')}]`],
    ['too many levels', lists(20_000)],
  ])('of %s still tells its id', (_, inner) => {
    const event = (fields: string) => `{"data":{"id":"no"},"x":${inner},${fields}}`;
    expect(eventIdIn(event('"id" : "a\\u002fb"'))).toBe('a/b');
    expect(eventIdIn(event('"id":"{\\"Jane\\":1}"'))).toBeUndefined();
    expect(eventIdIn(event('"id":"a","id":"b"'))).toBe('b');
    expect(eventIdIn(event('"id":7'))).toBeUndefined();
    expect(eventIdIn(event('"ids":"a"'))).toBeUndefined();
    expect(eventIdIn(event(`"id":"${'i'.repeat(257)}"`))).toBeUndefined();
    expect(eventIdIn(`[${inner},{"id":"a"}]`)).toBeUndefined();
  });

  test('with the keys of prototypes neither changes one nor passes as data', () => {
    const withKey = (event: string, key: string) => event.replace('{', `{"${key}":{"polluted":true},`);
    for (const key of ['__proto__', 'constructor', 'toString']) {
      expect(parsed(enrollmentCreate, withKey(bodyWith('1'), key)).data).toEqual(enrollment);
      const inside = bodyWith(withKey(JSON.stringify(enrollment), key), 'data');
      expect(problems(enrollmentCreate, inside)).toBe(`data.${key}: is not a known field`);
    }
    const inherited = '{"__proto__":{"orgUnitId":1,"userId":1,"roleId":1}}';
    expect(problems(enrollmentCreate, bodyWith(inherited, 'data'))).toContain('data.userId: is missing');
    expect(Object.prototype).not.toHaveProperty('polluted');
  });
});

describe('an id', () => {
  test.each(['110', '1.1e2', '9007199254740991'])('may be %s', (json) => {
    expect(problems(enrollmentCreate, bodyWith(json, 'roleId'))).toBe('taken');
  });

  test.each([
    '"110"',
    '1.5',
    '0',
    '-1',
    '9007199254740992',
    '1e999',
    'null',
    'true',
    '[110]',
    '"110/../111"',
  ])('%s is refused', (json) => {
    expect(problems(enrollmentCreate, bodyWith(json, 'roleId'))).toBe(
      'data.roleId: must be a positive whole number',
    );
  });
});

describe('a grade', () => {
  test.each([
    { type: 'numeric', points: 0 },
    { type: 'numeric', points: -2.05 },
    { type: 'pass-fail', pass: false },
    { type: 'selectbox', value: 'Very good' },
    { type: 'text', text: '' },
    { type: 'text', text: 'x'.repeat(100_000) },
  ])('may be %.60j', (grade) => {
    expect(gradeProblems({ grade })).toBe('taken');
  });

  const cannot = 'must not be null: the platform cannot clear a grade';
  test.each([
    [{ type: 'pass-fail', pass: null }, `pass: ${cannot}`],
    [{ type: 'selectbox', value: null }, `value: ${cannot}`],
    [{ type: 'text', text: null }, `text: ${cannot}`],
    [{ type: 'numeric', points: '8.5' }, 'points: must be a number'],
    [{ type: 'pass-fail', pass: 1 }, 'pass: must be true or false'],
    [{ type: 'selectbox', value: '' }, 'value: must not be empty'],
    [{ type: 'text', text: 8 }, 'text: must be text'],
    [{ type: 'text', text: 'x'.repeat(100_001) }, 'text: must be at most 100,000 characters'],
  ])('of %.60j is refused: %s', (grade, problem) => {
    expect(gradeProblems({ grade })).toBe(`data.grade.${problem}`);
  });

  test.each([[85], [[]], [[numeric]], [{ points: 1 }], [{ type: 'letter', value: 'A' }]])(
    'of the shape %j is refused, and told the shapes that there are',
    (grade) => {
      expect(gradeProblems({ grade })).toMatch(/^data\.grade\S*: .*numeric, pass-fail, selectbox or text$/);
    },
  );

  test.each(['comments', 'privateComments'])('has %s of at most 4,000 characters', (name) => {
    expect(gradeProblems({ grade: numeric, [name]: 'ä'.repeat(4_000) })).toBe('taken');
    expect(gradeProblems({ grade: numeric, [name]: 'x'.repeat(4_001) })).toBe(
      `data.${name}: must be at most 4,000 characters`,
    );
  });
});

describe('a file', () => {
  test.each([
    [{ uri: undefined }, 'uri: is missing: expected string'],
    [{ uri: 'http://files.example.org/a' }, "uri: the uri's scheme is http:"],
    [{ uri: 's3://uploads' }, 'uri: the uri names no valid S3 bucket'],
    [{ uri: `s3://uploads/${'x'.repeat(8_192)}` }, 'uri: must be at most 8,192 characters'],
    [{ name: '' }, 'name: too small: expected string to have >=1 characters'],
    [{ name: 'x'.repeat(256) }, 'name: too big: expected string to have <=255 characters'],
    [{ contentType: 'pdf' }, 'contentType: must be a content type such as application/pdf'],
    [{ contentType: 'a/pdf\r\nX: y' }, 'contentType: must be a content type such as application/pdf'],
    [{ contentType: `a/b${' ;'.repeat(500_000)}` }, 'contentType: '],
  ])('with %.60j is refused: %s', (change, problem) => {
    expect(submissionProblems({ files: [file, { ...file, ...change }] })).toContain(
      `data.files[1].${problem}`,
    );
  });

  test('is one of 1 to 20', () => {
    expect(submissionProblems({ files: Array(20).fill(file) })).toBe('taken');
    expect(submissionProblems({ files: [] })).toBe('data.files: must name at least one file');
    expect(submissionProblems({ files: Array(21).fill(file) })).toBe(
      'data.files: must name at most 20 files',
    );
  });
});

describe('a refusal', () => {
  test('names ten fields and counts the others', () => {
    const names = Array.from({ length: 900 }, (_, at) => [`field${at}`, at]);
    const problemTexts = enrollmentProblems({ data: { ...enrollment, ...Object.fromEntries(names) } });
    expect(problemTexts).toMatch(
      /^data\.field0: is not a known field; .*data\.field9: is not a known field; and 890 more$/,
    );
  });

  test.each(['Jane Doe', 'Prüfung', 'clear\u001b[2J\u202e', 'two\nlines', 'x'.repeat(41), '\ud800', ''])(
    'hides the name %j, which the producer made up and may be somebody’s',
    (name) => {
      expect(enrollmentProblems({ data: { ...enrollment, [name]: 1, 'a-name_1': 1 } })).toBe(
        'data.•••: is not a known field; data.a-name_1: is not a known field',
      );
    },
  );
});

describe('what is wrong with a message', () => {
  const worded = (...messages: string[]): Definition => ({
    name: 'try-out',
    data: z.unknown().superRefine((_, context) => {
      for (const said of messages) context.addIssue({ code: 'custom', message: said });
    }),
  });
  const problemTexts = (...messages: string[]) =>
    problems(worded(...messages), eventOf({ name: 'try-out' }, 1));

  test.each([
    ['Invalid input: Expected X', 'expected X'],
    ['No Invalid input: X', 'no Invalid input: X'],
    ['X, received undefined', 'x'],
    ['X, received undefined, Y', 'x, received undefined, Y'],
    [`${'a'.repeat(299)}😀`, `${'a'.repeat(299)}\uFFFD`],
  ])('is told as a sentence: %s', (said, sentence) => {
    expect(problemTexts(said)).toBe(`data: ${sentence}`);
  });

  test('is told ten times at most', () => {
    const many = (count: number) => Array.from({ length: count }, (_, at) => `p${at}`);
    const all = many(10).map((each) => `data: ${each}`);
    expect(problemTexts(...many(10))).toBe(all.join('; '));
    expect(problemTexts(...many(11))).toBe([...all, 'and 1 more'].join('; '));
  });

  test('is told of the data unless the message is of another kind', () => {
    const other = eventOf({ name: 'another' }, 1, { id: 7 });
    expect(problems(worded('no'), other)).toBe(
      'id: expected string, received number; type: must be sis.try-out.v1 on this queue',
    );
    expect(problems(worded('no'), { ...other, type: undefined, id: 'e' })).toContain('; data: no');
  });

  test('is found by a schema that is made once', () => {
    let made = 0;
    const counting = {
      data: z.unknown(),
      get name() {
        made += 1;
        return 'try-out';
      },
    };
    for (let count = 0; count < 3; count += 1)
      expect(problems(counting, eventOf({ name: 'try-out' }, 1))).toBe('taken');
    expect(made).toBe(1);
  });

  test.each([
    [[], 'the body'],
    [[0, 1, 'a'], '[0][1].a'],
    [['data', 'files', 1, 'Jane Doe'], 'data.files[1].•••'],
  ])('is named by its way %j: %s', (way, field) => {
    expect(fieldOf(way)).toBe(field);
  });

  test.each([
    ['{"id":"e-1"}', 'e-1'],
    [`{"id":"${'x'.repeat(256)}"}`, 'x'.repeat(256)],
    [`{"id":"${'x'.repeat(257)}"}`, undefined],
    ['{"id":""}', undefined],
    ['{"id":"Dear Jane, well done!"}', undefined],
    ['{"id":"\\ud800"}', undefined],
    ['{"id":7}', undefined],
    ['["e-1"]', undefined],
    ['{"id":"e-1"', undefined],
    [onBus({ no: 'event' }), undefined],
    [inTopic('no event'), undefined],
    [undefined as never, undefined],
  ])('may be anything, and has an id or none: %.60s', (body, id) => {
    expect(eventIdIn(body)).toBe(id);
  });
});

const message = { id: 'b', source: 's', time: '2026-01-31T09:30:00Z', sequence: undefined, data: {} };
const version = (more: Partial<Message<unknown>>, integration = 'try-out') =>
  versionOf({ ...message, ...more }, integration);

describe('the place right after a message', () => {
  test.each([
    ['2026-01-31T09:30:00Z', '2026-01-31T09:30:00.000000001Z'],
    ['2026-01-31T09:30:00.5+02:00', '2026-01-31T07:30:00.500000001Z'],
    ['2026-12-31T23:59:59.999999999Z', '2027-01-01T00:00:00.000000000Z'],
  ])('at %s is %s', (time, nextTime) => {
    const before = version({ time, id: '~', sequence: '9' });
    expect(decodeVersion(before)).toEqual({ eventId: '~', nextTime });
    const next = version({ time: nextTime, id: '!' });
    expect(before < next).toBe(true);
    const later = new Date(Date.parse(time) + 2).toISOString();
    expect(next < version({ time: later, id: '!' })).toBe(true);
  });
});

describe('the version of a message', () => {
  test.each([
    [{}, { time: '2026-01-31T09:30:01Z' }],
    [{}, { time: '2026-01-31T09:30:00.000000001Z' }],
    [{ time: '2026-01-31T09:30:00.1231Z' }, { time: '2026-01-31T09:30:00.12319Z' }],
    [{ time: '2026-01-31T11:29:59+02:00' }, {}],
    [{}, { time: '2026-01-31T04:30:00.5-05:00' }],
    [{ time: '2025-12-31T23:59:59Z' }, { time: '2026-01-01T00:00:00+00:00' }],
    [{ sequence: '1' }, { time: '2026-01-31T09:30:01Z' }],
    [{}, { sequence: '0' }],
    [{ sequence: '9' }, { sequence: '10' }],
    [{ sequence: `000${'9'.repeat(200)}` }, { sequence: `1${'0'.repeat(200)}` }],
    [
      { sequence: '007', id: 'a' },
      { sequence: '7', id: 'b' },
    ],
    [{ sequence: 'a10' }, { sequence: 'a9' }],
    [{ sequence: '12a' }, { sequence: '3b' }],
    [
      { sequence: '7', id: 'z' },
      { sequence: '8', id: 'a' },
    ],
    [{ id: 'a' }, { id: 'b' }],
    [{ source: 'a' }, { source: 'b' }],
  ])('of %o is before that of %o', (earlier, later) => {
    const [one, other] = [earlier, later].map((each) => version(each));
    expect(one! < other!).toBe(true);
  });

  test.each([
    [{}, '2026-01-31T09:30:00.000000000\u0001\u0001b\u0001s\u0001try-out'],
    [
      { time: '2026-01-31T09:30:00.1234567899Z', sequence: '0012' },
      '2026-01-31T09:30:00.123456789\u000100212\u0001b\u0001s\u0001try-out',
    ],
    [
      { time: '2026-01-31T10:30:00.25+01:00', sequence: '000', id: '\u0001\u0002\ud800' },
      '2026-01-31T09:30:00.250000000\u00010010\u0001\u0002\u0003\u0002\u0004\uFFFD\u0001s\u0001try-out',
    ],
  ])('of %o is written in the ledger as it always was', (more, written) => {
    expect(version(more)).toBe(written);
  });

  test('without its source says the same of the message, but not what follows its id', () => {
    const whole = version({ sequence: '12', source: 'https://sis.example.edu/outbox' });
    const kept = withoutSource(whole);
    expect(kept).toBe(`2026-01-31T09:30:00.000000000\u000100212\u0001b\u0001\u0002#${identityDigest(whole)}`);
    expect(decodeVersion(kept)).toEqual(decodeVersion(whole));
    expect(identityDigest(kept)).toBe(identityDigest(whole));
    expect(shortVersion(kept)).toBe(shortVersion(whole));
    expect([isSameMessage(kept, whole), isSameMessage(whole, kept)]).toEqual([true, true]);
    expect(isSameMessage(kept, version({ sequence: '12' }))).toBe(false);
    expect([
      isLater(version({ sequence: '12', id: 'c' }), kept),
      isLater(kept, version({ id: 'c' })),
    ]).toEqual([true, true]);
    expect(withoutSource(kept)).toBe(kept);
  });

  test.each([
    ['a message that must not be sent twice', unorderedVersionOf({ ...message, source: 's'.repeat(80) })],
    ['an identity that is digested whole', version({ source: 's'.repeat(300) })],
    ['a lock', shortVersion(version({}))],
  ])('of %s has no source to leave out', (_, kept) => {
    expect(withoutSource(kept)).toBe(kept);
  });

  test('is another one for another integration, so that no two messages about one resource are equal', () => {
    expect(version({}, 'enrollment-create') < version({}, 'enrollment-remove')).toBe(true);
  });
});

describe('which message it is', () => {
  // Whatever may stand between two parts, and what could stand for it, is in the parts as well.
  const part = fc.string({
    unit: fc.constantFrom(...'\u0000\u0001\u0002\u0003\u0004 /%2Fab'),
    minLength: 1,
    maxLength: 6,
  });

  test.each<[string, (message: Message<unknown>) => string]>([
    ['its identity', identityOf],
    ['its version', (given) => versionOf(given, 'try-out')],
  ])('is told by %s: source and id cannot be joined to those of another', (_, problemTexts) => {
    const of = ([source = '', id = '']: readonly string[]) => problemTexts({ ...message, source, id });
    expect(of(['ab', 'c'])).not.toBe(of(['a', 'bc']));
    fc.assert(
      fc.property(fc.tuple(part, part), fc.tuple(part, part), (one, other) => {
        expect(of(one) === of(other)).toBe(JSON.stringify(one) === JSON.stringify(other));
      }),
      { numRuns: runs(2_000) },
    );
  });
});

describe('a message that gives ids of the SIS', () => {
  const data = z.strictObject({
    orgUnitId: platformId,
    userId: platformId,
    toParentId: platformId.optional(),
  });
  const integration = {
    name: 'try-out',
    data: data.refine(({ orgUnitId, userId }) => orgUnitId !== userId, {
      path: ['userId'],
      error: 'must differ',
    }),
  };
  const draft = (given: object) =>
    draftOf(JSON.stringify(eventOf(integration, given)), integration, Date.parse(now));
  const problemOf = (given: object): string => {
    try {
      draft(given);
      return 'taken';
    } catch (error) {
      return String((error as Error).message).replace('The message is not valid: ', '');
    }
  };

  test('says which, and is a message once it is known what they stand for', () => {
    const given = draft({ orgUnitCode: 'MATH-101', userName: 'jdoe' });
    expect(given.sisIds).toEqual([
      { field: 'orgUnitCode', platformField: 'orgUnitId', value: 'MATH-101' },
      { field: 'userName', platformField: 'userId', value: 'jdoe' },
    ]);
    expect(given.message({ orgUnitId: 2001, userId: 301 }).data).toEqual({ orgUnitId: 2001, userId: 301 });
    const unknown = (field: string) =>
      expect.objectContaining({
        kind: 'unknown-id',
        message: `It is not known here what data.${field} stands for`,
      });
    expect(() => given.message({ orgUnitId: 2001 })).toThrow(unknown('userName'));
    expect(() => given.message()).toThrow(unknown('orgUnitCode'));
  });

  test('is not valid where what they stand for does not go together', () => {
    const given = draft({ orgUnitCode: 'MATH-101', orgDefinedId: '77' });
    expect(() => given.message({ orgUnitId: 7, userId: 7 })).toThrow(/data\.orgDefinedId: must differ/);
  });

  test('may give one of the platform beside it', () => {
    const given = draft({ orgUnitId: 2001, userName: 'jdoe' });
    expect(given.orgUnitId).toBe(2001);
    expect(given.message({ userId: 301, orgUnitId: 1 }).data).toEqual({ orgUnitId: 2001, userId: 301 });
  });

  const oneLine = 'must be one line, without a space at its beginning or end';
  const twice = (other: string) => `is given together with ${other}. Give only one of them`;
  test.each([
    [{ orgUnitId: 1, orgUnitCode: 'A', userId: 2 }, `orgUnitId: ${twice('orgUnitCode')}`],
    [{ orgUnitId: 1, userName: 'a', orgDefinedId: 'b' }, `userName: ${twice('orgDefinedId')}`],
    [{ orgUnitId: 1, userName: 7 }, 'userName: must be text'],
    [{ orgUnitId: 1, userName: '' }, `userName: ${oneLine}`],
    [{ orgUnitId: 1, userName: 'a ' }, `userName: ${oneLine}`],
    [{ orgUnitId: 1, userName: 'a\nb' }, `userName: ${oneLine}`],
    [{ orgUnitId: 1, userName: '\ud800' }, 'userName: must be well-formed Unicode'],
    [{ orgUnitId: 1, userName: 'x'.repeat(257) }, 'userName: must be at most 256 characters'],
    [{ orgUnitId: 1, userId: 2, gradeObjectName: 'Final' }, 'gradeObjectName: is not a known field'],
    [{ userName: 'a' }, 'orgUnitId: is missing: '],
  ])('is refused by the fields that it has: %j', (given, problem) => {
    expect(problemOf(given)).toContain(`data.${problem}`);
  });

  test.each([[null], ['text'], [7], [[]]])('is refused where its data is %j', (given) => {
    expect(problemOf(given as never)).toMatch(/^data: /);
  });
});

describe('a message in an envelope', () => {
  test.each([{}, { roleId: 'Ann Lee' }])('is judged and known as the event that it holds: %j', (more) => {
    const event = eventOf(enrollmentCreate, { ...enrollment, ...more });
    const text = JSON.stringify(event);
    for (const body of [inTopic(text), onBus(event), inTopic(onBus(event))]) {
      expect(problems(enrollmentCreate, body)).toBe(problems(enrollmentCreate, text));
      expect(eventIdIn(body)).toBe(event.id);
    }
  });

  test.each([
    [noticeOf({ key: 'a' }), [{ bucket: 'files', key: 'a', versionId: undefined }]],
    [testOfS3, []],
  ])('is none where S3 names files, or tries whether it may send: %.40s', (body, objects) => {
    expect(() => parsed(enrollmentCreate, body)).toThrow(FileNotice);
    expect(() => parsed(enrollmentCreate, body)).toThrow(
      expect.objectContaining({
        name: 'FileNotice',
        kind: 'rejected',
        objects,
        message: 'The message is a notice of S3, not an event',
        remedy: 'Only a function can handle it, from its queue. Replay this letter.',
      }),
    );
    expect(eventIdIn(body)).toBeUndefined();
  });
});
