// @module-tag long
import { expect, test } from 'vitest';
import { parts } from '../integrations.ts';
import { answers } from './answers.ts';
import { expectEnds } from './ends.ts';
import { integrationStage } from './stage.ts';

/** Every integration × whatever may come for an answer to each of its calls. */
const stage = integrationStage();

test.each(parts)('$title, whatever answers its calls', async (part) => {
  const { requests, state: whole } = await stage.deliver(part);
  const called = stage.calledIn(part, requests);
  expect(called).not.toEqual([]);
  for (const operation of called) await expectEnds(stage, part, { operation, by: answers, whole });
});
