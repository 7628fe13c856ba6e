import { expect, test } from 'vitest';
import { mappingFor } from '../../../lib/options/snapshots/package/mapping-file.ts';
import { snapshotSettings } from '../../../lib/options/snapshots/package/settings-file.ts';
import { loadIntegrations } from '../../../lib/stage/integrations.ts';
import { examplesIn, sectionOf } from '../../documents.ts';

test('what the producers’ guide shows of snapshots is read as it says', async () => {
  const [settings, mapping, ...others] = examplesIn(sectionOf('events/README.md', '## Snapshots'));
  expect(others).toEqual([]);
  const { roles } = settings as { roles: Record<string, number> };
  expect(snapshotSettings.parse({ roles })).toEqual(settings);
  const integrations = await loadIntegrations();
  const store = { textIfAny: async () => JSON.stringify(mapping) };
  const read = await mappingFor('snapshots/registrations.csv', {
    store,
    integrations,
    functions: snapshotSettings.parse({}).functions,
  });
  expect(read.messages).toMatchObject([{ key: ['COURSE', 'LOGIN'] }]);
});
