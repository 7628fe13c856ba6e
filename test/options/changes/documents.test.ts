import { expect, test } from 'vitest';
import * as z from 'zod';
import { readMapping } from '../../../lib/delivery/mapping/mapping.ts';
import { messagesOf } from '../../../lib/options/changes/events.ts';
import { noticesIn } from '../../../lib/options/changes/page.ts';
import { secretShape } from '../../../lib/options/changes/source.ts';
import { loadIntegrations } from '../../../lib/stage/integrations.ts';
import { examplesIn, sectionOf } from '../../documents.ts';

test('what the producers’ guide shows of other services is read as it says', async () => {
  const section = sectionOf('events/README.md', '## By way of other services');
  const [changes, mapped, ...others] = examplesIn(section);
  expect(others).toEqual([]);
  const integrations = await loadIntegrations();
  const read = readMapping(JSON.stringify(mapped), integrations);
  if (!('mapping' in read)) throw new Error(read.problems.join());
  const [change] = noticesIn(JSON.stringify(changes), { after: undefined, limit: 500 });
  const made = messagesOf(change!, { mapping: read.mapping, integrations, nowMs: Date.now() });
  expect(made).toMatchObject({ messages: [{ function: 'enrollment-create' }] });
});

test('each secret that its document shows is one that the function takes', () => {
  const examples = examplesIn(sectionOf('lib/options/changes/README.md', '## Set up'));
  const secret = z.union([
    secretShape.strict().required({ header: true, value: true }).omit({ tokenUrl: true, apiKey: true }),
    secretShape.strict().required({ tokenUrl: true, apiKey: true }).omit({ header: true, value: true }),
  ]);
  expect(examples.flatMap((each) => secret.safeParse(each).error ?? [])).toEqual([]);
  expect(examples.map((each) => Object.keys(each as object))).toEqual([
    ['header', 'value'],
    ['tokenUrl', 'apiKey'],
  ]);
});
