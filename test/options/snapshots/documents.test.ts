import { expect, test } from 'vitest';
import { mappingFor } from '../../../lib/options/snapshots/package/mapping-file.ts';
import { snapshotSettings } from '../../../lib/options/snapshots/package/settings-file.ts';
import { loadIntegrations } from '../../../lib/stage/integrations.ts';
import { examplesIn, sectionOf } from '../../documents.ts';

test('what the producers’ guide shows of snapshots is read as it says', async () => {
  const examples = examplesIn(sectionOf('events/README.md', '## Snapshots')) as object[];
  const mappings = examples.filter((example) => 'messages' in example);
  for (const settings of examples.filter((example) => !('messages' in example)))
    expect(snapshotSettings.safeParse(settings).error).toBeUndefined();
  const integrations = await loadIntegrations();
  const { functions } = snapshotSettings.parse({});
  const read = await Promise.all(
    mappings.map((mapping) => {
      const store = { textIfAny: async () => JSON.stringify(mapping) };
      return mappingFor('snapshots/registrations.csv', { store, integrations, functions });
    }),
  );
  expect(read.map(({ messages }) => messages[0]?.key?.map(({ name }) => name))).toEqual([
    ['COURSE', 'LOGIN'],
    ['TERM', 'CRN', 'LOGIN', 'ITEM'],
  ]);
});
