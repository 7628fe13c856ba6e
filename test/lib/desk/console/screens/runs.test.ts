import { expect, test } from 'vitest';
import { discardLetters } from '../../../../../lib/desk/messages/archive/discard.ts';
import { waitLimitMs } from '../../../../limits.ts';
import { never, officesForTests } from '../../cli/office.ts';
import { openConsole } from '../attacker.ts';

const offices = officesForTests();

type Ours = Awaited<ReturnType<typeof openConsole>>;

const begun = async (ours: Ours, path: string, form: Record<string, string>, until: RegExp) => {
  const run = (await ours.post(path, form)).headers.location ?? '';
  const shows = (text: RegExp): Promise<void> =>
    expect.poll(async () => (await ours.get(run)).text, { timeout: waitLimitMs }).toMatch(text);
  await shows(until);
  return { run, shows };
};

test('a plan that was left open is withdrawn once its letters are gone, and all is not well before', async () => {
  const office = await offices.open();
  const ids = await office.park([{}, {}]);
  const ours = await openConsole(office.target);
  const { shows } = await begun(ours, '/replay', {}, />Send 2 letters<\/button>/);
  const discard = (id: string[]) =>
    discardLetters(office.target, {
      filter: { id },
      reason: 'on paper',
      dryRun: false,
      audit: office.audit,
      signal: never,
      confirm: async () => true,
    });
  await discard(ids.slice(0, 1));
  expect((await ours.get('/')).text).toContain('this run waits for your answer');
  await discard(ids.slice(1));
  await shows(/this plan was withdrawn[\s\S]*Nothing was changed/);
  expect((await ours.get('/')).text).not.toContain('waits for your answer');
  await ours.close();
});

test('letters of an export are discarded for the same reason, but not before their file is saved', async () => {
  const office = await offices.open();
  const ids = await office.park([{}, {}]);
  const ours = await openConsole(office.target);
  const { run, shows } = await begun(ours, '/export', { reason: 'another desk' }, /Ready\. Save the file/);
  const [, file = ''] = /href="(\/exports\/[^"]+)"/.exec((await ours.get(run)).text) ?? [];
  expect((await ours.get(run)).text).not.toContain('Discard 2 letters');
  expect((await ours.post(`${file}/discard`)).status).toBe(400);
  const saved = (await ours.get(file)).text;
  for (const id of ids) expect(saved).toContain(id);
  await shows(/The file was saved[\s\S]*>Discard 2 letters<\/button>/);
  await begun(ours, `${file}/discard`, {}, /2 letters were discarded/);
  const audited = [...(await office.objects('audit/')).values()].join('');
  expect(audited).toMatch(/letters discard.*another desk/);
  await ours.close();
});
