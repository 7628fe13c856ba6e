import { describe, expect, test } from 'vitest';
import { shapeOf } from '../../../../lib/runtime/privacy/json-shape.ts';

describe('the shape of JSON', () => {
  test.each<[unknown, string]>([
    [null, 'null'],
    ['private-content', 'string'],
    [{}, '{}'],
    [[], 'an empty array'],
    [[{ A: 1 }, 'x'], 'an array of { A: number }'],
    [{ a: { b: { c: { d: 1 } } } }, '{ a: { b: { c: an object } } }'],
    [{ 'Jane Doe': 1, '301': true }, '{ …: boolean, …: number }'],
    [[[[[1]]]], 'an array of an array of an array of an array'],
    [
      Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`f${at}`, at])),
      expect.stringMatching(/ f19: number \}$/),
    ],
    [
      Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`f${at}`, at])),
      expect.stringMatching(/f19: number, … \}$/),
    ],
  ])('tells names and types, and no value: %j', (value, told) => {
    expect(shapeOf(value)).toEqual(told);
  });
});
