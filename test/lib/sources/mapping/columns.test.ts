import { expect, test } from 'vitest';
import * as z from 'zod';
import { integration as gradePush } from '../../../../functions/grade-push.ts';
import { integration as ltiLinkUpdate } from '../../../../functions/lti-link-update.ts';
import type { Integration } from '../../../../lib/delivery/handle/integration.ts';
import { type Column, columnOf, columnsOf } from '../../../../lib/sources/mapping/columns.ts';

const column = (types: string[], choices: string[] = []): Column => ({ types: new Set(types), choices });

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
    'files.0.role': column(['string'], ['main', 'extra']),
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
