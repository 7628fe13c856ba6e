import { expect, test } from 'vitest';
import { createAudit } from '../../../lib/operator/audit.ts';
import { officesForTests } from './office.ts';

const offices = officesForTests();

test('a change is written down before it begins and when it has ended, in the bucket and aloud', async () => {
  const office = await offices.open();
  const said: string[] = [];
  const audit = createAudit(office.target, (line) => said.push(line));
  const { end } = await audit.begin({
    command: 'letters replay',
    filter: { kind: ['rejected'] },
    reason: 'mended',
    counts: { planned: 3 },
  });
  const begun = [...(await office.objects('audit/')).values()];
  await end({ sent: 2, failed: 1 });
  const objects = await office.objects('audit/');
  expect(begun).toHaveLength(1);
  expect([...objects.values()].map((text) => text.trim()).sort()).toEqual([...said].sort());
  expect(
    [...objects.keys()].every((key) =>
      /^audit\/\d{4}\/\d\d\/\d\d\/[\d:.]+-[0-9a-f]{8}-(begin|end)\.json$/.test(key),
    ),
  ).toBe(true);
  const common = {
    who: 'a test',
    target: office.target.prefix.slice(0, -1),
    command: 'letters replay',
    filter: { kind: ['rejected'] },
    reason: 'mended',
  };
  expect(said.map((line) => JSON.parse(line))).toMatchObject([
    { audit: 'begin', ...common, counts: { planned: 3 } },
    { audit: 'end', ...common, counts: { sent: 2, failed: 1 } },
  ]);
});

test('without a bucket nothing may begin', async () => {
  const office = await offices.open();
  const audit = createAudit({ ...office.target, bucket: undefined }, () => {});
  await expect(audit.begin({ command: 'publish' })).rejects.toThrow(
    /give --bucket <name>, or set SIS_RELAY_BUCKET/,
  );
});
