import { expect, test } from 'vitest';
import * as z from 'zod';
import { integration as gradePush } from '../../../../functions/grade-push.ts';
import { integration as ltiLinkUpdate } from '../../../../functions/lti-link-update.ts';
import { integration as submissionUpload } from '../../../../functions/submission-upload.ts';
import type { Integration } from '../../../../lib/delivery/handle/integration.ts';
import {
  type Column,
  columnOf,
  columnsOf,
  unknownColumns,
} from '../../../../lib/delivery/mapping/columns.ts';

const column = (types: string[], choices: string[] = [], lengths: number[] = []): Column => ({
  types: new Set(types),
  choices,
  lengths,
});

test('a column is told with its types, and with its choices where it has no others', () => {
  const columns = columnsOf(gradePush as Integration<unknown>);
  expect(columns.get('grade.type')).toEqual(
    column(['string'], ['numeric', 'pass-fail', 'selectbox', 'text']),
  );
  expect(columns.get('grade.pass')).toEqual(column(['boolean']));
  expect(columns.get('comments')).toEqual(column(['string']));
  expect(columns.get('userId')).toEqual(column(['integer']));
});

test('choices are those of enums and consts, of all cases of a union', () => {
  const data = z.object({
    state: z.enum(['open', 'closed']).nullable(),
    size: z.literal([1, 2]),
    done: z.literal(true),
    kind: z.union([z.literal('a'), z.enum(['b', 'a'])]),
    any: z.union([z.literal('a'), z.string()]),
    either: z.union([z.literal('a'), z.boolean()]),
    files: z.array(z.object({ role: z.enum(['main', 'extra']) })),
    about: z.discriminatedUnion('type', [
      z.object({ type: z.literal('x'), value: z.literal('only') }),
      z.object({ type: z.literal('y'), value: z.number() }),
    ]),
  });
  expect(Object.fromEntries(columnsOf({ ...gradePush, data } as unknown as Integration<unknown>))).toEqual({
    state: column(['string', 'null'], ['open', 'closed']),
    size: column(['number'], ['1', '2']),
    done: column(['boolean']),
    kind: column(['string'], ['a', 'b']),
    any: column(['string']),
    either: column(['string', 'boolean']),
    'files.0.role': column(['string'], ['main', 'extra'], [1_000]),
    'about.type': column(['string'], ['x', 'y']),
    'about.value': column(['string', 'number']),
  });
});

test('a field whose name is the platform’s own has the type of all such', () => {
  const columns = columnsOf(ltiLinkUpdate as Integration<unknown>);
  expect(columnOf('send.tcInfo', columns)).toEqual(column(['boolean']));
  expect(columnOf('send', columns)).toBeUndefined();
  expect(columnOf('send.a.b', columns)).toBeUndefined();
  expect(columnOf('tcInfo', columns)).toBeUndefined();
});

test('a list has no column beyond its length, and what is no list has none by number', () => {
  const upload = columnsOf(submissionUpload as Integration<unknown>);
  expect(columnOf('files.19.uri', upload)).toEqual(column(['string'], [], [20]));
  expect(columnOf('files.20.uri', upload)).toBeUndefined();
  expect(columnOf('files.99999999.uri', upload)).toBeUndefined();
  expect(unknownColumns(['files.99999999.uri'], upload)).toEqual(['files.99999999.uri']);
  const link = columnsOf(ltiLinkUpdate as Integration<unknown>);
  expect(columnOf('send.99999999', link)).toBeUndefined();
});
