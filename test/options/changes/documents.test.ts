import { expect, test } from 'vitest';
import * as z from 'zod';
import { loadIntegrations } from '../../../lib/operate/stage/integrations.ts';
import { messagesOf } from '../../../lib/sources/changes/events.ts';
import { noticesIn } from '../../../lib/sources/changes/page.ts';
import { secretShape } from '../../../lib/sources/changes/source.ts';
import { readMapping } from '../../../lib/sources/mapping/mapping.ts';
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
