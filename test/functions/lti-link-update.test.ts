import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { integration } from '../../functions/lti-link-update.ts';
import { functionForTests, parked } from '../local/inline.ts';

const relay = functionForTests(integration, () => ({ LOG_LEVEL: 'debug' }));
const proof = { key: 'tool-key-4711', plainSecret: 'correct "horse" battery/staple+&=' };
const secretOf = (linkId: number) => `sis-relay/local/lti-links/${linkId}`;
const links = () => relay.rows('ltiLinks');
const update = {
  linkId: 9001,
  title: 'Virtual lab',
  url: 'https://lab.example.edu/launch?unit=1',
  description: null,
  isVisible: true,
  signMessage: true,
  signWithTc: false,
  customParameters: null,
  useToolProviderSecuritySettings: false,
  send: {
    tcInfo: true,
    contextInfo: true,
    userId: true,
    userName: false,
    userEmail: false,
    linkTitle: true,
    linkDescription: false,
    vendorUserName: false,
    vendorOrgDefinedId: true,
    vendorRoleId: false,
  },
};

const lines: string[] = [];

beforeAll(async () => {
  vi.spyOn(process.stdout, 'write').mockImplementation((line) => lines.push(String(line)) > 0);
  await relay.controls().secret(secretOf(9001), proof);
});
afterAll(() => vi.restoreAllMocks());

describe('an LTI link', () => {
  test('gets all settings of its message, and its key and secret from Secrets Manager', async () => {
    const description = 'Experiments that need no goggles.';
    const customParameters = [{ name: 'term', value: '2026-1' }];
    await relay.isDone({ ...update, description, customParameters }, ['PUT 200']);
    expect(await links()).toEqual([
      {
        linkId: 9001,
        orgUnitId: 2001,
        writes: 1,
        fields: {
          Title: 'Virtual lab',
          Url: 'https://lab.example.edu/launch?unit=1',
          Description: description,
          Key: proof.key,
          PlainSecret: proof.plainSecret,
          IsVisible: true,
          SignMessage: true,
          SignWithTc: false,
          CustomParameters: [{ Name: 'term', Value: '2026-1' }],
          UseToolProviderSecuritySettings: false,
          SendTcInfo: true,
          SendContextInfo: true,
          SendUserId: true,
          SendUserName: false,
          SendUserEmail: false,
          SendLinkTitle: true,
          SendLinkDescription: false,
          SendVendorUserName: false,
          SendVendorOrgDefinedId: true,
          SendVendorRoleId: false,
        },
      },
    ]);
  });

  test('can be without description and parameters', async () => {
    await relay.deliver(update);
    expect(await links()).toMatchObject([{ fields: { Description: null, CustomParameters: null } }]);
  });

  test('gets the secret as it is at that time', async () => {
    const secret = (plainSecret: string) =>
      relay.controls().secret(secretOf(9001), { ...proof, plainSecret });
    await relay.deliver(update);
    await secret('rotated');
    await relay.deliver(update);
    await secret(proof.plainSecret);
    expect(await links()).toMatchObject([{ fields: { PlainSecret: 'rotated' }, writes: 2 }]);
  });
});

describe('the key and the secret of a link', () => {
  test('that is not there is named in the letter; once it is there, a replay goes through', async () => {
    await relay.controls().seed({ ltiLinks: [{ linkId: 9002, orgUnitId: 2001 }] });
    const delivery = await relay.deliver({ ...update, linkId: 9002 });
    expect(parked(delivery)).toMatchObject({
      requests: [],
      kind: 'missing-credential',
      message: 'There is no secret sis-relay/local/lti-links/9002',
      remedy:
        'Create the secret sis-relay/local/lti-links/9002 as JSON with key and plainSecret, then replay.',
    });
    await relay.controls().secret(secretOf(9002), proof);
    expect(await relay.replay(delivery)).toMatchObject({ outcomes: ['done'], letters: [] });
    expect(await links()).toMatchObject([{ linkId: 9001 }, { linkId: 9002, fields: { Key: proof.key } }]);
  });

  test.each([
    ['has no key', { plainSecret: proof.plainSecret }],
    ['has an empty secret', { ...proof, plainSecret: '' }],
    ['is a credential of somebody', { type: 'id-key', appKey: 'a', userKey: 'b' }],
  ])('that %s: its message waits until it is corrected', async (_, wrong) => {
    await relay.controls().secret(secretOf(9001), wrong);
    const correct = () => relay.controls().secret(secretOf(9001), proof);
    const { outcomes, requests, letters } = await relay.deliver(update, correct);
    expect({ outcomes, letters }).toEqual({ outcomes: ['waiting', 'done'], letters: [] });
    expect(requests).toEqual(['PUT 200']);
  });

  test.each([
    ['may not be read', { type: 'AccessDeniedException', status: 400, times: 1 }],
    ['cannot be read, as Secrets Manager is down', { status: 500, times: 2 }],
  ])('that %s: its message waits', async (_, fault) => {
    await relay.controls().awsFault('secretsManager', { ...fault, name: secretOf(9001) });
    const { outcomes, requests, letters } = await relay.deliver(update);
    expect({ outcomes, letters }).toEqual({ outcomes: ['waiting', 'done'], letters: [] });
    expect(requests).toEqual(['PUT 200']);
  });

  test.each([
    ['as it is', proof.plainSecret],
    ['as JSON', JSON.stringify({ PlainSecret: proof.plainSecret })],
    ['in an address', `https://lab.example.edu/launch/${encodeURIComponent(proof.plainSecret)}`],
    ['together with its key', `Key ${proof.key} and secret ${proof.plainSecret}`],
    ['as its key alone, in JSON', JSON.stringify({ Key: proof.key })],
    ['as its key alone, in capitals and escaped', proof.key.toUpperCase().replaceAll('-', '%2D')],
  ])('are in no letter, even where the platform repeats them %s', async (_, said) => {
    const headers = { 'content-type': 'text/plain' };
    await relay.controls().fault({ status: 400, headers, body: `Provided JSON is invalid\n${said}` });
    const failure = parked(await relay.deliver(update));
    expect(failure).toMatchObject({ kind: 'rejected', status: 400 });
    expect(failure.detail).toContain('Provided JSON is invalid');
    expect(JSON.stringify(failure)).not.toMatch(/horse|battery|4711/);
  });

  const wideEtag = 'told-"to"-everybody';
  test.each<[string, string, (body: string) => string]>([
    ['plainSecret', 'as the platform calls it', (body) => withField(body, 'PlainSecret')],
    ['plainSecret', 'beside what is right', (body) => withField(body, 'plainSecret')],
    ['key', 'beside what is right', (body) => withField(body, 'key')],
    ['password', 'beside what is right', (body) => withField(body, 'password')],
    ['token', 'beside what is right', (body) => withField(body, 'token')],
  ])(
    'is not for messages: %s, %s, is refused, and its letter tells to rotate it and is without what it holds',
    async (field, _, change) => {
      const body = change(relay.event(update));
      const { letters, requests } = await relay.deliverBody(body);
      expect([letters.length, requests]).toEqual([1, []]);
      const [letter] = letters;
      expect(letter?.failure).toMatchObject({
        kind: 'invalid',
        remedy: expect.stringMatching(
          new RegExp(
            `^Rotate the secret that the message contained .${field}.\\. The queue held it in clear text; .* replay`,
            'i',
          ),
        ),
      });
      expect(letter?.body).toMatch(new RegExp(`"${field}":"…"`, 'i'));
      expect(JSON.stringify(letter)).not.toMatch(/told-|everybody/);
      expect(letter?.body.length).toBe(body.length - JSON.stringify(wideEtag).length + '"…"'.length);
    },
  );
  const withField = (body: string, name: string, value: unknown = wideEtag): string => {
    const message = JSON.parse(body);
    return JSON.stringify({ ...message, data: { ...message.data, [name]: value } });
  };

  test('are left out with the whole of a message that is not JSON: its letter tells its id and size', async () => {
    const event = relay.event(update);
    const body = withField(event, 'secret').slice(0, -1);
    const { letters, requests } = await relay.deliverBody(body);
    expect([letters.length, requests]).toEqual([1, []]);
    const [letter] = letters;
    expect(JSON.parse(letter?.body ?? '')).toEqual({
      withheld: expect.stringContaining('no event'),
      bytes: body.length,
      id: JSON.parse(event).id,
    });
    expect(letter?.failure).toMatchObject({
      kind: 'invalid',
      message: 'The message is not valid: the body is not JSON',
      remedy: expect.stringMatching(/^This letter cannot be replayed\. Find its producer by the id/),
    });
    expect(JSON.stringify(letter)).not.toContain('everybody');
  });

  test('is in no line of the log', async () => {
    await relay.controls().fault({ status: 400, body: proof.plainSecret });
    await relay.deliver(update);
    await relay.deliver({ ...update, plainSecret: proof.plainSecret });
    await relay.deliver(update);
    expect(lines.join('')).toContain('update-lti-link');
    expect(lines.join('')).not.toMatch(/horse|battery|tool-key/);
  });
});

test('a link without a flag that the site names after its vendor is refused by the platform, which names it', async () => {
  const { vendorRoleId: _, ...send } = update.send;
  expect(parked(await relay.deliver({ ...update, send }))).toMatchObject({
    requests: ['PUT 400'],
    kind: 'rejected',
    detail: expect.stringContaining('SendVendorRoleId must be'),
  });
});

test.each<[string, object, RegExp]>([
  ['an address that runs', { url: 'javascript:alert(1)' }, /data\.url: must begin with https/],
  ['a flag of the prototype', { send: JSON.parse('{"__proto__":true}') }, /data\.send/],
  ...Object.keys(update.send)
    .filter((name) => !name.startsWith('vendor'))
    .map((name): [string, object, RegExp] => [
      `nothing said of ${name}`,
      { send: { ...update.send, [name]: undefined } },
      new RegExp(`data\\.send\\.${name}: is missing: must be true or false`),
    ]),
])('is no LTI link, and nothing is sent: %s', (_, wrong, says) => {
  expect(relay.problemOf({ ...update, ...wrong })).toMatch(says);
});
