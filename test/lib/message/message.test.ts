import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
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
  identityOf,
  type Message,
  messageType,
  parseMessage,
  placeIn,
  platformId,
  versionOf,
} from '../../../lib/message/message.ts';
import { anyCharacter } from '../../any-character.ts';
import { inTopic, noticeOf, onBus, testOfS3 } from '../../envelopes.ts';
import { runs } from '../../seed.ts';

const now = '2026-06-01T12:00:00Z';

type Definition = { name: string; data: z.ZodType };

const integrations: Definition[] = [gradePush, enrollmentCreate, submissionUpload, profileImageUpdate];

const enrollment = { orgUnitId: 2001, userId: 303, roleId: 110 };
const gradeIds = { orgUnitId: 2001, gradeObjectId: 5001, userId: 301 };
const numeric = { type: 'numeric', points: 8.5 };
const file = { uri: 's3://uploads/essay.pdf', name: 'essay.pdf', contentType: 'application/pdf' };
const submission = { orgUnitId: 2001, folderId: 7001, userId: 301, files: [file] };
const portrait = { userId: 301, file: { uri: 's3://uploads/portrait.png', contentType: 'image/png' } };

/** What each kind of message carries when nothing is wrong with it. */
const proper: [Definition, Record<string, unknown>][] = [
  [gradePush, { ...gradeIds, grade: numeric, comments: 'Good', privateComments: '' }],
  [enrollmentCreate, enrollment],
  [submissionUpload, { ...submission, comment: 'Mine' }],
  [profileImageUpdate, portrait],
];

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

describe('a message', () => {
  test.each(integrations.map((each) => [each.name, each] as const))(
    'the example of %s is a whole event of Lambda, and what its body carries is valid',
    (name, integration) => {
      const { Records } = JSON.parse(
        readFileSync(new URL(`../../../events/${name}.json`, import.meta.url), 'utf8'),
      );
      expect(Records).toHaveLength(1);
      const [{ body, md5OfBody, eventSourceARN }] = Records;
      expect(md5OfBody).toBe(createHash('md5').update(body).digest('hex'));
      expect(eventSourceARN).toBe(`arn:aws:sqs:eu-west-1:123456789012:sis-relay-${name}`);
      expect(problems(integration, body)).toBe('taken');
    },
  );

  test('has the id, source, time and sequence of its envelope, and the data as they were sent', () => {
    expect(parsed(enrollmentCreate, eventOf(enrollmentCreate, enrollment, { sequence: '7' }))).toEqual({
      id: 'e-1',
      source: 'https://sis.example.edu',
      time: '2026-06-01T10:00:00Z',
      sequence: '7',
      data: enrollment,
    });
  });

  test('may carry any extension of the envelope, of any shape, and none of them reaches what is parsed', () => {
    const extensions = {
      subject: 'x',
      traceparent: '00-1',
      nested: { data: [1, null] },
      count: 3,
      none: null,
    };
    const event = eventOf(enrollmentCreate, enrollment, extensions);
    expect(Object.keys(parsed(enrollmentCreate, event))).toEqual([
      'id',
      'source',
      'time',
      'sequence',
      'data',
    ]);
  });

  const unknown: [string, Definition, object][] = [
    ['data.weight', gradePush, { ...gradeIds, grade: numeric, weight: 1 }],
    ['data.grade.max', gradePush, { ...gradeIds, grade: { ...numeric, max: 10 } }],
    ['data.grade.text', gradePush, { ...gradeIds, grade: { ...numeric, text: 'A' } }],
    ['data.RoleId', enrollmentCreate, { ...enrollment, RoleId: 1 }],
    ['data.files[1].size', submissionUpload, { ...submission, files: [file, { ...file, size: 1 }] }],
    ['data.file.name', profileImageUpdate, { userId: 301, file: { ...portrait.file, name: 'me' } }],
  ];
  test.each(unknown)(
    'with a field that is not known is refused by its name, as %s',
    (field, integration, data) => {
      expect(problems(integration, eventOf(integration, data))).toBe(`${field}: is not a known field`);
    },
  );

  test.each(
    integrations.flatMap((queue) =>
      integrations
        .filter((other) => other !== queue)
        .map((other) => [other.name, queue.name, queue] as const),
    ),
  )('of the kind %s is refused on the queue of %s', (other, name, queue) => {
    expect(problems(queue, eventOf({ name: other }, enrollment))).toBe(
      `type: must be sis.${name}.v1 on this queue`,
    );
  });

  test('of another version of its type is refused', () => {
    expect(enrollmentProblems({ type: 'sis.enrollment-create.v2' })).toMatch(/^type: must be sis\..*\.v1/);
    expect(enrollmentProblems({ type: 'sis.Enrollment-create.v1' })).toMatch(/^type: must be/);
  });
});

describe('the envelope', () => {
  test.each([
    [{ specversion: undefined }, 'specversion: is missing: expected "1.0"'],
    [{ specversion: '0.3' }, 'specversion: expected "1.0"'],
    [{ specversion: 1 }, 'specversion: expected "1.0"'],
    [{ id: undefined }, 'id: is missing: expected string'],
    [{ id: '' }, 'id: too small: expected string to have >=1 characters'],
    [{ id: 7 }, 'id: expected string, received number'],
    [{ id: 'x'.repeat(257) }, 'id: too big: expected string to have <=256 characters'],
    [{ source: undefined }, 'source: is missing: expected string'],
    [{ source: '' }, 'source: too small: expected string to have >=1 characters'],
    [{ source: null }, 'source: expected string, received null'],
    [{ type: undefined }, 'type: is missing: must be sis.enrollment-create.v1 on this queue'],
    [{ type: 3 }, 'type: must be sis.enrollment-create.v1 on this queue'],
    [{ sequence: 5 }, 'sequence: expected string, received number'],
    [{ data: undefined }, 'data: is missing: expected object'],
    [{ data: null }, 'data: expected object, received null'],
    [{ data: [] }, 'data: expected object, received array'],
    [{ data: '{}' }, 'data: expected object, received string'],
  ])('with %o is refused: %s', (change, problem) => {
    expect(enrollmentProblems(change)).toBe(problem);
  });

  test('of which much is wrong is told all of it at once', () => {
    expect(problems(enrollmentCreate, {})).toBe(
      [
        'specversion: is missing: expected "1.0"',
        'id: is missing: expected string',
        'source: is missing: expected string',
        'type: is missing: must be sis.enrollment-create.v1 on this queue',
        'time: is missing: must be a time such as 2026-01-31T09:30:00Z',
        'data: is missing: expected object',
      ].join('; '),
    );
  });

  test('takes an attribute that is null for one that is left out, as CloudEvents says', () => {
    const event = eventOf(enrollmentCreate, enrollment, { sequence: null, datacontenttype: null });
    expect(parsed(enrollmentCreate, event).sequence).toBeUndefined();
  });

  test.each([
    'application/json',
    'application/json; charset=utf-8',
    'application/json;charset=utf-8',
    'Application/JSON',
    'application/cloudevents+json',
    'application/vnd.example.edu.grade-v1+json; x=y',
    'text/json',
  ])('says that its data are JSON: %s', (datacontenttype) => {
    expect(enrollmentProblems({ datacontenttype })).toBe('taken');
  });

  test.each([
    'application/xml',
    'text/plain',
    'application/jsonp',
    'application/json-seq',
    'application/json.old',
    'json',
    '',
  ])('may not say that its data are something else: %j', (datacontenttype) => {
    expect(enrollmentProblems({ datacontenttype })).toBe('datacontenttype: must be application/json');
  });

  test.each([
    '2026-01-31T09:30:00Z',
    '2026-01-31T09:30:00+02:00',
    '2026-01-31T09:30:00-23:59',
    '2026-01-31T09:30:00.5Z',
    '2026-01-31T09:30:00.123456789+05:45',
    '2024-02-29T00:00:00Z',
  ])('has a time as in %s', (time) => {
    expect(parsed(enrollmentCreate, eventOf(enrollmentCreate, enrollment, { time })).time).toBe(time);
  });

  test.each([
    ['without offset', '2026-01-31T09:30:00'],
    ['without seconds', '2026-01-31T09:30Z'],
    ['with a space', '2026-01-31 09:30:00Z'],
    ['of a day alone', '2026-01-31'],
    ['of a day that there is not', '2026-02-29T00:00:00Z'],
    ['of an hour that there is not', '2026-01-31T24:00:00Z'],
    ['of an offset that there is not', '2026-01-31T09:30:00+24:00'],
    ['with an offset without colon', '2026-01-31T09:30:00+0200'],
    ['in seconds', 1769851800],
    ['of nothing', null],
    ['in words', 'Sat, 31 Jan 2026 09:30:00 GMT'],
  ])('a time %s is refused', (_, time) => {
    expect(enrollmentProblems({ time })).toBe('time: must be a time such as 2026-01-31T09:30:00Z');
  });

  test("a time may be an hour ahead of our clock, for a producer's that runs fast, and not a moment more", () => {
    expect(enrollmentProblems({ time: '2026-06-01T13:00:00Z' })).toBe('taken');
    expect(enrollmentProblems({ time: '2026-06-01T15:00:00+02:00' })).toBe('taken');
    const ahead = 'time: must not be more than an hour in the future';
    expect(enrollmentProblems({ time: '2026-06-01T13:00:00.001Z' })).toBe(ahead);
    expect(enrollmentProblems({ time: '2026-06-01T13:00:00-00:01' })).toBe(ahead);
  });

  test('every time that is taken is one that can be reckoned with', () => {
    const digits = (most: number) => fc.integer({ min: 0, max: most }).map((n) => String(n).padStart(2, '0'));
    fc.assert(
      fc.property(
        fc.tuple(digits(12), digits(31), digits(24), digits(60), digits(60)),
        fc.constantFrom('', '.0', '.999999999', '.1234567890123'),
        fc.oneof(
          fc.constant('Z'),
          fc.tuple(fc.constantFrom('+', '-'), digits(24), digits(60)).map(([s, h, m]) => `${s}${h}:${m}`),
        ),
        ([month, day, hour, minute, second], fraction, offset) => {
          const time = `2025-${month}-${day}T${hour}:${minute}:${second}${fraction}${offset}`;
          fc.pre(enrollmentProblems({ time }) === 'taken');
          expect(Date.parse(time)).not.toBeNaN();
        },
      ),
    );
  });
});

describe('a body', () => {
  test.each([
    ['empty', ''],
    ['blank', ' '],
    ['half an object', '{"specversion":"1.0"'],
    ['in single quotes', "{'specversion':'1.0'}"],
    ['behind a byte order mark', '\uFEFF{}'],
    ['a number that JSON lacks', 'NaN'],
    ['XML', '<event/>'],
    ['a form', 'specversion=1.0&id=1'],
  ])('that is not JSON is refused: %s', (_, body) => {
    expect(problems(enrollmentCreate, body)).toBe('the body is not JSON');
  });

  test.each([
    ['null', 'null'],
    ['number', '1'],
    ['string', '"text"'],
    ['boolean', 'true'],
    ['array', JSON.stringify([eventOf(enrollmentCreate, enrollment)])],
  ])('that is JSON but no object is refused: %s', (type, body) => {
    expect(problems(enrollmentCreate, body)).toBe(`the body: expected object, received ${type}`);
  });

  describe('that is nested', () => {
    const deep = 'the body is nested deeper than 64 levels';
    const plain = JSON.stringify(eventOf(enrollmentCreate, enrollment, { data: '@' }));
    const extended = JSON.stringify(eventOf(enrollmentCreate, enrollment, { extension: '@' }));
    const lists = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
    const objects = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
    // The event itself is a level.
    test.each([lists(63), objects(63)])('64 levels deep is judged like any other', (inner) => {
      expect(problems(enrollmentCreate, extended.replace('"@"', inner))).toBe('taken');
      expect(problems(enrollmentCreate, plain.replace('"@"', inner))).toMatch(/^data(: expected|\.)/);
    });

    test.each([
      ['a level more', lists(64)],
      ['a level more, of objects', objects(64)],
      ['10,000 levels', lists(10_000)],
      ['half a million brackets that nothing closes', '['.repeat(500_000)],
      ['as many levels as SQS lets it have', `${'[{"a":'.repeat(100_000)}1${'}]'.repeat(100_000)}`],
    ])('deeper is refused for that alone: %s', (_, inner) => {
      expect(problems(enrollmentCreate, extended.replace('"@"', inner))).toBe(deep);
      expect(problems(enrollmentCreate, plain.replace('"@"', inner))).toBe(deep);
    });

    test('is judged by its brackets, and not by those within its texts', () => {
      const brackets = `\\"${'[{'.repeat(1_000)}\\`;
      expect(enrollmentProblems({ extension: [brackets, brackets, { [brackets]: brackets }] })).toBe('taken');
      expect(enrollmentProblems({ extension: Array.from({ length: 1_000 }, () => [{}]) })).toBe('taken');
    });
  });

  describe('of many values', () => {
    const many = 'the body has more than 10,000 values';
    const wide = 'the body has a list or an object of more than 1,000';
    const fill = (count: number, each: (at: number) => string) =>
      Array.from({ length: count }, (_, at) => each(at)).join();

    test.each<[string, string, string]>([
      ['344,000 empty objects', `[${fill(344_000, () => '{}')}]`, many],
      ['as many empty lists', `[${fill(344_000, () => '[]')}]`, many],
      ['half a million numbers', `[${fill(500_000, () => '0')}]`, many],
      ['100,000 fields', `{${fill(100_000, (at) => `"${at}":0`)}}`, many],
      ['100,000 fields that nothing closes', `{${fill(100_000, (at) => `"${at}":0`)}`, many],
      ['11 lists of 1,000', `[${fill(11, () => `[${fill(1_000, () => '0')}]`)}]`, many],
      ['one list of 1,001', `[${fill(1_001, () => '0')}]`, wide],
      ['one object of 1,001 within', `[[{${fill(1_001, (at) => `"${at}":0`)}}]]`, wide],
    ])('is refused for that alone: %s', (_, inner, problem) => {
      const extended = JSON.stringify(eventOf(enrollmentCreate, enrollment, { extension: '@' }));
      expect(problems(enrollmentCreate, extended.replace('"@"', inner))).toBe(problem);
      const inTopic = JSON.stringify({
        ...{ Type: 'Notification', MessageId: 'm', TopicArn: 't' },
        Message: extended.replace('"@"', inner),
      });
      expect(problems(enrollmentCreate, inTopic)).toMatch(
        /^the body is a notification of SNS whose Message has (more than 10,000|a list or an object)/,
      );
    });

    test('is taken up to that, and texts may hold as many commas as they like', () => {
      expect(enrollmentProblems({ extension: Array.from({ length: 9 }, () => Array(1_000).fill(0)) })).toBe(
        'taken',
      );
      expect(enrollmentProblems({ extension: ['[{,'.repeat(100_000)] })).toBe('taken');
    });

    test.each([
      ['too many values', `[${fill(20_000, () => '[]')}]`],
      ['too deep', `${'['.repeat(20_000)}${']'.repeat(20_000)}`],
    ])('still tells its id: %s', (_, inner) => {
      const event = (fields: string) => `{"data":{"id":"no"},"x":${inner},${fields}}`;
      expect(eventIdIn(event('"id" : "a\\"b"'))).toBe('a"b');
      expect(eventIdIn(event('"id":"a","id":"b"'))).toBe('b');
      expect(eventIdIn(event('"id":7'))).toBeUndefined();
      expect(eventIdIn(event('"ids":"a"'))).toBeUndefined();
      expect(eventIdIn(event(`"id":"${'i'.repeat(257)}"`))).toBeUndefined();
      expect(eventIdIn(`[${inner},{"id":"a"}]`)).toBeUndefined();
    });
  });

  test('of 1 MiB is judged like any other', () => {
    const much = 'x'.repeat(1024 ** 2 - 400);
    expect(enrollmentProblems({ extension: much })).toBe('taken');
    expect(enrollmentProblems({ id: much })).toBe('id: too big: expected string to have <=256 characters');
    expect(enrollmentProblems({ [much]: 1 })).toBe('taken');
    expect(enrollmentProblems({ data: { ...enrollment, [much]: 1 } })).toMatch(
      /^data\.•••: is not a known field$/,
    );
    expect(enrollmentProblems({ datacontenttype: `application/${'a+'.repeat(500_000)}` })).toMatch(
      /^datacon/,
    );
    expect(gradeProblems({ grade: { type: 'text', text: much.slice(0, 100_000) } })).toBe('taken');
    expect(gradeProblems({ grade: { type: 'text', text: much } })).toBe(
      'data.grade.text: must be at most 100,000 characters',
    );
    const [uri, contentType] = [`s3://uploads/${much}`, `a/b${' ;'.repeat(500_000)}`];
    expect(submissionProblems({ files: [{ ...file, uri }] })).toBe(
      'data.files[0].uri: must be at most 8,192 characters',
    );
    expect(submissionProblems({ files: [{ ...file, contentType }] })).toMatch(
      /^data\.files\[0\]\.contentType: /,
    );
  });

  test('with the keys of prototypes neither changes one nor passes as data', () => {
    const withKey = (event: string, key: string) => event.replace('{', `{"${key}":{"polluted":true},`);
    const event = JSON.stringify(eventOf(enrollmentCreate, '@'));
    const plain = event.replace('"@"', JSON.stringify(enrollment));
    for (const key of ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty']) {
      expect(parsed(enrollmentCreate, withKey(plain, key)).data).toEqual(enrollment);
      const inside = event.replace('"@"', withKey(JSON.stringify(enrollment), key));
      expect(problems(enrollmentCreate, inside)).toBe(`data.${key}: is not a known field`);
    }
    const inherited = '{"__proto__":{"orgUnitId":1,"userId":1,"roleId":1}}';
    expect(problems(enrollmentCreate, event.replace('"@"', inherited))).toContain('data.userId: is missing');
    expect(Object.prototype).not.toHaveProperty('polluted');
  });
});

describe('an id', () => {
  const roleProblems = (json: string) =>
    problems(
      enrollmentCreate,
      JSON.stringify(eventOf(enrollmentCreate, { ...enrollment, roleId: '@' })).replace('"@"', json),
    );

  test.each(['1', '110', '110.0', '1.1e2', '9007199254740991'])('may be %s', (json) => {
    expect(roleProblems(json)).toBe('taken');
  });

  test.each([
    '"110"',
    '1.5',
    '0',
    '-0',
    '-1',
    '-1.5',
    '9007199254740992',
    '9007199254740993',
    '1e300',
    '1e999',
    'null',
    'true',
    '[110]',
    '{}',
    '"110/../111"',
  ])('%s is refused', (json) => {
    expect(roleProblems(json)).toBe('data.roleId: must be a positive whole number');
  });

  test.each(
    proper.flatMap(([integration, data]) =>
      Object.keys(data)
        .filter((name) => name.endsWith('Id'))
        .map((name) => [name, integration.name, integration, data] as const),
    ),
  )('%s of %s is refused where it is text, and where it is missing', (name, _, integration, data) => {
    expect(problems(integration, eventOf(integration, { ...data, [name]: '301' }))).toBe(
      `data.${name}: must be a positive whole number`,
    );
    expect(problems(integration, eventOf(integration, { ...data, [name]: undefined }))).toBe(
      `data.${name}: is missing: must be a positive whole number`,
    );
  });
});

describe('a grade', () => {
  test.each([
    { type: 'numeric', points: 0 },
    { type: 'numeric', points: 0.05 },
    { type: 'numeric', points: -2 },
    { type: 'pass-fail', pass: false },
    { type: 'selectbox', value: 'Very good' },
    { type: 'text', text: '' },
  ])('may be %o', (grade) => {
    expect(gradeProblems({ grade })).toBe('taken');
  });

  test.each([
    [null, 'data.grade'],
    [{ type: 'numeric', points: null }, 'data.grade.points'],
    [{ type: 'pass-fail', pass: null }, 'data.grade.pass'],
    [{ type: 'selectbox', value: null }, 'data.grade.value'],
    [{ type: 'text', text: null }, 'data.grade.text'],
  ])('of %o is refused, as the platform cannot clear one', (grade, field) => {
    expect(gradeProblems({ grade })).toBe(`${field}: must not be null: the platform cannot clear a grade`);
  });

  test('that is missing is refused', () => {
    const cannot = 'is missing: the platform cannot clear a grade';
    expect(gradeProblems({})).toBe(`data.grade: ${cannot}`);
    expect(gradeProblems({ grade: { type: 'numeric' } })).toBe(`data.grade.points: ${cannot}`);
  });

  test.each([
    [{ type: 'numeric', points: '8.5' }, 'data.grade.points: must be a number'],
    [{ type: 'numeric', points: [8.5] }, 'data.grade.points: must be a number'],
    [{ type: 'pass-fail', pass: 1 }, 'data.grade.pass: must be true or false'],
    [{ type: 'pass-fail', pass: 'true' }, 'data.grade.pass: must be true or false'],
    [{ type: 'selectbox', value: '' }, 'data.grade.value: must not be empty'],
    [{ type: 'text', text: 8 }, 'data.grade.text: must be text'],
  ])('of %o is refused: %s', (grade, problem) => {
    expect(gradeProblems({ grade })).toBe(problem);
  });

  test('greater than any number is refused', () => {
    const event = JSON.stringify(
      eventOf(gradePush, { ...gradeIds, grade: { type: 'numeric', points: '@' } }),
    );
    expect(problems(gradePush, event.replace('"@"', '1e999'))).toBe('data.grade.points: must be a number');
  });

  test.each([
    [85],
    ['A'],
    [true],
    [[]],
    [[numeric]],
    [{}],
    [{ points: 1 }],
    [{ type: 'letter', value: 'A' }],
    [{ type: null, points: 1 }],
  ])('of the shape %o is refused, and told the shapes that there are', (grade) => {
    expect(gradeProblems({ grade })).toMatch(/^data\.grade\S*: .*numeric, pass-fail, selectbox or text$/);
  });

  test.each(['comments', 'privateComments'])('has %s of at most 4,000 characters', (name) => {
    expect(gradeProblems({ grade: numeric, [name]: '' })).toBe('taken');
    expect(gradeProblems({ grade: numeric, [name]: 'ä'.repeat(4_000) })).toBe('taken');
    expect(gradeProblems({ grade: numeric, [name]: 'x'.repeat(4_001) })).toBe(
      `data.${name}: must be at most 4,000 characters`,
    );
    expect(gradeProblems({ grade: numeric, [name]: null })).toBe(
      `data.${name}: expected string, received null`,
    );
  });
});

describe('a file', () => {
  test.each([
    [{ uri: undefined }, 'uri: is missing: expected string'],
    [{ uri: null }, 'uri: expected string, received null'],
    [{ uri: '' }, 'uri: the uri is neither s3://bucket/key nor a URL'],
    [{ uri: 'file:///etc/passwd' }, "uri: the uri's scheme is file:"],
    [{ uri: 'http://files.example.org/a' }, "uri: the uri's scheme is http:"],
    [{ uri: 's3://uploads' }, 'uri: the uri names no valid S3 bucket'],
    [{ uri: 's3://uploads/' }, 'uri: the uri names no key'],
    [{ name: '' }, 'name: too small: expected string to have >=1 characters'],
    [{ name: 'x'.repeat(256) }, 'name: too big: expected string to have <=255 characters'],
    [{ contentType: 'pdf' }, 'contentType: must be a content type such as application/pdf'],
    [
      { contentType: 'application/pdf\r\nX: y' },
      'contentType: must be a content type such as application/pdf',
    ],
  ])('with %o is refused: %s', (change, problem) => {
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
    expect(submissionProblems({ files: file })).toBe('data.files: expected array, received object');
  });
});

describe('a refusal', () => {
  /** Any JSON whose values would be known again. */
  const telling: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom('geheim', 'x-geheim@example.edu', 's3://bucket/geheim/..', 'ftp://host/geheim'),
      fc.constantFrom('https://user:geheim@host/', 'https://host:geheim/', `${'geheim '.repeat(2_000)}`),
      fc.constantFrom(-717_171, 717_171.5, null, true, false),
      fc.array(tie('any'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('type', 'uri', 'points', 'value', 'other'), tie('any'), { maxKeys: 4 }),
    ),
  })).any;

  test.each(proper.map(([integration, data]) => [integration.name, integration, data] as const))(
    'of %s names each field that is wrong, and never what it holds',
    (_, integration, data) => {
      const fields = Object.fromEntries(
        Object.entries(data).map(([name, value]) => [name, fc.oneof(fc.constant(value), telling)]),
      );
      fc.assert(
        fc.property(fc.record(fields, { requiredKeys: [] }), (wrong) => {
          const told = problems(integration, eventOf(integration, wrong));
          if (told === 'taken') return;
          expect(told).not.toMatch(/geheim|717.?171/);
          const list = told.split(/; (?=data\.|and \d)/);
          for (const each of list)
            expect(each).toMatch(/^data(\.\w+|\[\d+\])+: (is|must|expected|too|the uri)\b|^and \d+ more$/);
        }),
        { numRuns: runs(300) },
      );
    },
  );

  test('of anything whatever is one of kind invalid, and short enough for a log', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...proper),
        fc.oneof(
          fc.json(),
          fc.string({ unit: anyCharacter }),
          fc.jsonValue().map((data) => JSON.stringify(eventOf(gradePush, data))),
          fc.jsonValue().map((grade) => JSON.stringify(eventOf(gradePush, { ...gradeIds, grade }))),
          fc
            .dictionary(fc.string({ unit: anyCharacter }), fc.jsonValue(), { maxKeys: 30 })
            .map((more) => JSON.stringify(eventOf(enrollmentCreate, { ...enrollment, ...more }))),
        ),
        ([integration], body) => {
          expect(problems(integration, body).length).toBeLessThan(4_000);
        },
      ),
      { numRuns: runs(1_000) },
    );
  });

  test('names ten fields and counts the others', () => {
    const names = Array.from({ length: 900 }, (_, at) => [`field${at}`, at]);
    const told = enrollmentProblems({ data: { ...enrollment, ...Object.fromEntries(names) } });
    expect(told).toMatch(
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
  const told = (...messages: string[]) => problems(worded(...messages), eventOf({ name: 'try-out' }, 1));

  test.each([
    ['Invalid input: Expected X', 'expected X'],
    ['No Invalid input: X', 'no Invalid input: X'],
    ['X, received undefined', 'x'],
    ['X, received undefined, Y', 'x, received undefined, Y'],
    ['ABC', 'aBC'],
    ['a'.repeat(301), 'a'.repeat(300)],
    [`${'a'.repeat(299)}😀`, `${'a'.repeat(299)}\uFFFD`],
  ])('is told as a sentence: %s', (said, sentence) => {
    expect(told(said)).toBe(`data: ${sentence}`);
  });

  test('is told ten times at most', () => {
    const many = (count: number) => Array.from({ length: count }, (_, at) => `p${at}`);
    const all = many(10).map((each) => `data: ${each}`);
    expect(told(...many(10))).toBe(all.join('; '));
    expect(told(...many(11))).toBe([...all, 'and 1 more'].join('; '));
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
    [['data'], 'data'],
    [[0], '[0]'],
    [['data', 'files', 1, 'uri'], 'data.files[1].uri'],
    [[0, 1, 'a'], '[0][1].a'],
    [['data', 'Jane Doe'], 'data.•••'],
  ])('is named by its way %j: %s', (way, field) => {
    expect(fieldOf(way)).toBe(field);
  });

  test.each([
    ['{"id":"e-1"}', 'e-1'],
    [`{"id":"e-1","x":${'['.repeat(1_000)}${']'.repeat(1_000)}}`, 'e-1'],
    [`{"id":"${'x'.repeat(256)}"}`, 'x'.repeat(256)],
    [`{"id":"${'x'.repeat(257)}"}`, undefined],
    ['{"id":""}', undefined],
    ['{"id":"\\ud800"}', undefined],
    ['{"id":7}', undefined],
    ['["e-1"]', undefined],
    ['{"id":"e-1"', undefined],
    ['', undefined],
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
    expect(placeIn(before)).toEqual({ id: '~', nextTime });
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
    [{ time: '2026-01-31T09:30:00.9Z' }, { time: '2026-01-31T09:30:01Z' }],
    [{ time: '2026-01-31T11:29:59+02:00' }, {}],
    [{}, { time: '2026-01-31T04:30:00.5-05:00' }],
    [{ time: '2025-12-31T23:59:59Z' }, { time: '2026-01-01T00:00:00+00:00' }],
    [{ sequence: '1' }, { time: '2026-01-31T09:30:01Z' }],
    [{}, { sequence: '0' }],
    [{ sequence: '9' }, { sequence: '10' }],
    [{ sequence: '0009' }, { sequence: '0010' }],
    [{ sequence: '9'.repeat(20) }, { sequence: `1${'0'.repeat(20)}` }],
    [{ sequence: `000${'9'.repeat(200)}` }, { sequence: `1${'0'.repeat(200)}` }],
    [
      { sequence: '007', id: 'a' },
      { sequence: '7', id: 'b' },
    ],
    [{ sequence: 'a1' }, { sequence: 'a2' }],
    [{ sequence: '10a' }, { sequence: '9a' }],
    [{ sequence: 'a10' }, { sequence: 'a9' }],
    [{ sequence: '0' }, { sequence: '1' }],
    [{ sequence: '99' }, { sequence: '100' }],
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

  test('is the same however the same moment is written', () => {
    const of = (time: string) => version({ time });
    expect(of('2026-01-31T10:30:00+01:00')).toBe(of('2026-01-31T09:30:00.000Z'));
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
    [{ sequence: 'x' }, '2026-01-31T09:30:00.000000000\u0001x\u0001b\u0001s\u0001try-out'],
  ])('of %o is written in the ledger as it always was', (more, written) => {
    expect(version(more)).toBe(written);
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
  ])('is told by %s: source and id cannot be joined to those of another', (_, told) => {
    const of = ([source = '', id = '']: readonly string[]) => told({ ...message, source, id });
    expect(of(['/sis dept', '7'])).not.toBe(of(['/sis', 'dept 7']));
    expect(of(['/sis/dept', '7'])).not.toBe(of(['/sis', 'dept/7']));
    expect(of(['\u0002c', 'a\u0001b'])).not.toBe(of(['\u0002b\u0001c', 'a']));
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
    expect(() => given.message({ orgUnitId: 2001 })).toThrow(/data\.userName/);
    expect(() => given.message()).toThrow(/data\.orgUnitCode/);
  });
  test('is not valid where what they stand for does not go together', () => {
    const given = draft({ orgUnitCode: 'MATH-101', orgDefinedId: '77' });
    expect(() => given.message({ orgUnitId: 7, userId: 7 })).toThrow(/data\.orgDefinedId: must differ/);
    expect(() => given.message({ orgUnitId: 7, userId: 0 })).toThrow(
      /data\.orgDefinedId: must be a positive/,
    );
  });
  test('may give one of the platform beside it', () => {
    const given = draft({ orgUnitId: 2001, userName: 'jdoe' });
    expect(given.orgUnitId).toBe(2001);
    expect(given.message({ userId: 301, orgUnitId: 1 }).data).toEqual({ orgUnitId: 2001, userId: 301 });
  });
  test.each([
    [
      { orgUnitId: 1, orgUnitCode: 'A', userId: 2 },
      'data.orgUnitId: is given together with orgUnitCode. Give only one of them',
    ],
    [
      { orgUnitId: 1, userName: 'a', orgDefinedId: 'b' },
      'data.userName: is given together with orgDefinedId. Give only one of them',
    ],
    [{ orgUnitId: 1, userName: 7 }, 'data.userName: must be text'],
    [{ orgUnitId: 1, userName: null }, 'data.userName: must be text'],
    [
      { orgUnitId: 1, userName: '' },
      'data.userName: must be one line, without a space at its beginning or end',
    ],
    [
      { orgUnitId: 1, userName: 'a ' },
      'data.userName: must be one line, without a space at its beginning or end',
    ],
    [
      { orgUnitId: 1, userName: 'a\nb' },
      'data.userName: must be one line, without a space at its beginning or end',
    ],
    [{ orgUnitId: 1, userName: '\ud800' }, 'data.userName: must be well-formed Unicode'],
    [{ orgUnitId: 1, userName: 'x'.repeat(257) }, 'data.userName: must be at most 256 characters'],
    [{ orgUnitId: 1, userId: 2, gradeObjectName: 'Final' }, 'data.gradeObjectName: is not a known field'],
    [{ userName: 'a' }, 'data.orgUnitId: is missing: '],
  ])('is refused by the fields that it has: %j', (given, problem) => {
    expect(problemOf(given)).toContain(problem);
  });
  test.each([[null], ['text'], [7], [[]]])('is refused where its data is %j', (given) => {
    expect(problemOf(given as never)).toMatch(/^data: /);
  });
});

describe('a message in an envelope', () => {
  test.each(proper)('of $name is the event that it holds', (integration, data) => {
    const event = eventOf(integration, data);
    const text = typeof event === 'string' ? event : JSON.stringify(event);
    const plain = parsed(integration, text);
    for (const body of [inTopic(text), onBus(JSON.parse(text)), inTopic(onBus(JSON.parse(text)))]) {
      expect(parsed(integration, body)).toEqual(plain);
      expect(eventIdIn(body)).toBe(plain.id);
    }
  });
  test('names the fields of the event where they are wrong', () => {
    const event = eventOf(enrollmentCreate, { ...enrollment, roleId: 'Ann Lee' });
    const text = typeof event === 'string' ? event : JSON.stringify(event);
    expect(problems(enrollmentCreate, inTopic(text))).toBe(problems(enrollmentCreate, text));
  });
  test('is none where S3 names files, or tries whether it may send', () => {
    for (const [body, objects] of [
      [noticeOf({ key: 'a' }), [{ bucket: 'files', key: 'a', versionId: undefined }]],
      [testOfS3, []],
    ] as const) {
      let thrown: unknown;
      try {
        parsed(enrollmentCreate, body);
      } catch (error) {
        thrown = error;
      }
      expect(thrown).toBeInstanceOf(FileNotice);
      expect(thrown).toMatchObject({ objects });
      expect(eventIdIn(body)).toBeUndefined();
    }
  });
  test('has the id of its event alone', () => {
    expect(eventIdIn(onBus({ no: 'event' }))).toBeUndefined();
    expect(eventIdIn(inTopic('no event'))).toBeUndefined();
  });
});
