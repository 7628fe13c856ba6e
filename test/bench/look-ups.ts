import { integration } from '../../functions/enrollment-create.ts';
import { createCrosswalk } from '../../lib/delivery/crosswalk/look-up.ts';
import { bucketOf, type Entries } from '../../lib/delivery/crosswalk/table.ts';
import { draftOf } from '../../lib/message/message.ts';
import type { Platform } from '../../lib/platform/client/client.ts';
import { atMost, type Section, spreadsOf } from './figures.ts';

export type LookUpsScale = { rounds: number; users: number };

const orgUnitCode = 'MATH-101';

/** What a message pays that gives the SIS' ids, once its container knows what they stand for. */
export const measureLookUps = async ({ rounds, users }: LookUpsScale): Promise<Section> => {
  const names = Array.from({ length: users }, (_, at) => `user-${at}`);
  const buckets = new Map<string, Entries>([
    [bucketOf('orgUnitCode', 'platform', orgUnitCode), new Map([[orgUnitCode, { ids: [2001] }]])],
  ]);
  for (const [at, name] of names.entries()) {
    const bucket = bucketOf('userName', 'file', name);
    buckets.set(bucket, new Map(buckets.get(bucket)).set(name, { ids: [at + 1] }));
  }
  const crosswalk = createCrosswalk({ table: { namesIn: async () => buckets }, nowMs: Date.now });
  const asked = { platform: {} as Platform, orgUnitId: undefined };
  const bodyOf = (data: object): string =>
    JSON.stringify({
      ...{ specversion: '1.0', id: '4711', source: '/sis', type: 'sis.enrollment-create.v1' },
      ...{ time: '2026-01-31T09:30:00Z', data: { ...data, roleId: 110 } },
    });
  const byName = names.map((userName) => bodyOf({ orgUnitCode, userName }));
  const byId = names.map((_, at) => bodyOf({ orgUnitId: 2001, userId: at + 1 }));
  const read = async (bodies: string[]): Promise<number> => {
    const before = process.cpuUsage();
    for (const body of bodies) {
      const draft = draftOf(body, integration, Date.now());
      const ids = draft.sisIds.length > 0 ? await crosswalk.platformIds(draft.sisIds, asked) : undefined;
      draft.message(ids);
    }
    const { user, system } = process.cpuUsage(before);
    return (user + system) / bodies.length;
  };

  const values: { ids: number[]; names: number[] } = { ids: [], names: [] };
  for (let round = -1; round < rounds; round += 1) {
    const measured = { ids: await read(byId), names: await read(byName) };
    // The first one fills the cache.
    if (round < 0) continue;
    values.ids.push(measured.ids);
    values.names.push(measured.names);
  }
  const added = values.names.map((each, at) => Math.max(0, each - (values.ids[at] ?? 0)));
  return {
    title: 'The SIS’ ids',
    about: `Messages that name their org unit and one of ${users.toLocaleString('en')} users by the SIS’ ids are read beside such that give the platform’s, once the container knows what they stand for.`,
    figures: [
      {
        name: 'CPU to read a message',
        unit: 'µs',
        values: spreadsOf({ 'the platform’s ids': values.ids, 'the SIS’ ids': values.names }),
        floors: [atMost(30, 'the SIS’ ids add ≤ 30 µs', added)],
      },
    ],
  };
};
