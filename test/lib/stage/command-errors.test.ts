import { expect, test } from 'vitest';
import { RefusedError, whyNot } from '../../../lib/stage/command-errors.ts';

const errorOfAws = (message: string, fields: object) =>
  Object.assign(new Error(message), { $metadata: { attempts: 3 } }, fields);

test.each([
  ['a refusal in its own words', new RefusedError('There is no table.'), 'There is no table.'],
  [
    'a call of AWS that nothing answered by its code, without the address',
    errorOfAws('connect ECONNREFUSED 127.0.0.1:45267', { code: 'ECONNREFUSED', syscall: 'connect' }),
    'no answer (ECONNREFUSED)',
  ],
  [
    'an answer of AWS by its name and words',
    errorOfAws('is not authorized', { name: 'AccessDeniedException' }),
    'AccessDeniedException: is not authorized',
  ],
  ['what is no error of AWS by its name and words', new TypeError('x is not a y'), 'TypeError: x is not a y'],
])('tells %s', (_, error, told) => {
  expect(whyNot(error)).toBe(told);
});
