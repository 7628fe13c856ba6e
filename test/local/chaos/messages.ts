import { hash, randomUUID } from 'node:crypto';
import type { Random } from '../../fuzz/random.ts';
import type { PlatformState } from '../controls.ts';

export const kinds = [
  'grade-push',
  'enrollment-create',
  'enrollment-remove',
  'submission-upload',
  'profile-image-update',
] as const;
export type Kind = (typeof kinds)[number];

/** A message of the run: one version of the thing that it changes. */
export type Message = {
  id: string;
  kind: Kind;
  thing: string;
  version: number;
  body: string;
  /** The platform refuses it for good. */
  wrong: boolean;
};

/** As many versions as a thing has at most. */
export const versions = 8;
const course = 2001;
const learner = 110;
export const submitters = Array.from({ length: 10 }, (_, at) => 6_001 + at);
const roleOf = (version: number): number => 1_000 + version;

/** So many files of different sizes there are to hand in: by name and size the function knows its own again. */
export const sizes = 97;

/** The image of a version: a picture, with something behind it that no viewer shows. */
export const imageOf = (picture: Buffer, version: number): Buffer =>
  Buffer.concat([picture, Buffer.from(`version ${version}`)]);

/** What must be on the platform for all messages to be possible. */
export function chaosSeed(messages: number) {
  const userIds = [...Array.from({ length: messages }, (_, at) => 10_000 + at), ...submitters];
  return {
    roles: range(versions).map((version) => ({ roleId: roleOf(version), name: `Role ${version}` })),
    users: userIds.map((userId) => ({ userId })),
    enrollments: userIds.map((userId) => ({ orgUnitId: course, userId, roleId: learner })),
  };
}

/** What a kind of message changes: a creation and a removal of one enrollment are versions of the same thing. */
const thingOf = (kind: Kind, name: unknown): string => `${kind.replace(/-.*/, '')} ${name}`;

/** Messages of all kinds: things of one to eight versions each. */
export function plan(count: number, random: Random, bucket: string): Message[] {
  const messages: Message[] = [];
  for (let thing = 0; messages.length < count; thing += 1) {
    const kind = random.one([...kinds, 'grade-push'] as const);
    const wrong = kind === 'grade-push' && random.happens(0.25);
    const last = kind === 'submission-upload' || wrong ? 1 : 1 + random.below(versions);
    for (let version = 0; version < last && messages.length < count; version += 1) {
      const isEither = kind.startsWith('enrollment');
      const own = isEither ? random.one(['enrollment-create', 'enrollment-remove'] as const) : kind;
      messages.push(messageOf({ kind: own, thing, version, wrong }, bucket));
    }
  }
  return messages;
}

const anHourAgoMs = Date.now() - 3_600_000;

function messageOf(
  { kind, thing, version, wrong }: { kind: Kind; thing: number; version: number; wrong: boolean },
  bucket: string,
): Message {
  const id = randomUUID();
  const userId = 10_000 + thing;
  const fileOf = (name: string, type: string) => ({ uri: `s3://${bucket}/chaos/${name}`, contentType: type });
  const data = {
    'grade-push': {
      orgUnitId: course,
      gradeObjectId: wrong ? 5_999 : 5_001,
      userId,
      grade: { type: 'numeric', points: version },
      // Without one of the two, what is there is read first.
      ...(version % 2 === 0 ? { comments: '', privateComments: '' } : { comments: '' }),
    },
    'enrollment-create': { orgUnitId: course, userId, roleId: roleOf(version) },
    'enrollment-remove': { orgUnitId: course, userId },
    'submission-upload': {
      orgUnitId: course,
      folderId: 7_001,
      userId: submitters[thing % submitters.length],
      files: [{ ...fileOf(`${thing % sizes}.pdf`, 'application/pdf'), name: `${id}.pdf` }],
    },
    'profile-image-update': { userId, file: fileOf(`${version}.png`, 'image/png') },
  }[kind];
  const time = new Date(anHourAgoMs + version * 60_000).toISOString();
  const body = JSON.stringify({ specversion: '1.0', id, source: '/sis', type: `sis.${kind}.v1`, time, data });
  const changed = thingOf(kind, kind === 'submission-upload' ? id : userId);
  return { id, kind, thing: changed, version, body, wrong };
}

export type Verdict = { lost: string[]; stale: string[]; twice: string[] };

/** The ids of the submissions that the platform holds. */
export const handedIn = ({ submissions = [] }: PlatformState): string[] =>
  submissions.flatMap(({ files }) =>
    (files as { name: string }[]).map(({ name }) => name.replace('.pdf', '')),
  );

/** What is not as it must be, by what the platform holds and which messages are letters: `parked` are their ids. */
export function judge(
  messages: Message[],
  state: PlatformState,
  { parked, picture }: { parked: Set<string>; picture: Buffer },
): Verdict {
  const held = versionsIn(state, picture);
  const verdict: Verdict = { lost: [], stale: [], twice: [] };
  for (const [thing, all] of Map.groupBy(messages, (message) => message.thing)) {
    const there = held.get(thing) ?? removed(thing, all, state);
    if (thing.startsWith('submission') && there.length > 1) verdict.twice.push(thing);
    const newest = all.filter(({ id }) => !parked.has(id)).sort((a, b) => b.version - a.version)[0];
    if (newest === undefined) continue;
    const has = Math.max(-1, ...there);
    // A letter may have had its effect: then what is there is newer still.
    if (has < 0) verdict.lost.push(newest.id);
    else if (has < newest.version) verdict.stale.push(newest.id);
  }
  return verdict;
}

/** An enrollment that is not there: whichever of its removals was done. */
function removed(thing: string, all: Message[], { enrollments = [] }: PlatformState): number[] {
  if (enrollments.some(({ userId }) => thing === thingOf('enrollment-remove', userId))) return [];
  return all.flatMap(({ kind, version }) => (kind === 'enrollment-remove' ? [version] : []));
}

/** By thing: the version that the platform holds; of submissions, one for each time that it was handed in. */
function versionsIn(state: PlatformState, picture: Buffer): Map<string, number[]> {
  const held = new Map<string, number[]>();
  const add = (thing: string, version: number) => held.set(thing, [...(held.get(thing) ?? []), version]);
  const digestOf = (version: number) => hash('sha256', imageOf(picture, version));
  const digests = range(versions).map(digestOf);
  for (const { userId, pointsNumerator, gradeObjectId } of state.gradeValues ?? [])
    if (gradeObjectId === 5_001) add(thingOf('grade-push', userId), Number(pointsNumerator));
  for (const { userId, roleId } of state.enrollments ?? [])
    if (Number(roleId) >= 1_000) add(thingOf('enrollment-create', userId), Number(roleId) - 1_000);
  for (const id of handedIn(state)) add(thingOf('submission-upload', id), 0);
  for (const { userId, sha256 } of state.profileImages ?? [])
    add(thingOf('profile-image-update', userId), digests.indexOf(String(sha256)));
  return held;
}

const range = (length: number): number[] => Array.from({ length }, (_, at) => at);

/** In any order, one in twenty twice; those about one thing come so close to each other that they meet. */
export function inTurmoil(messages: Message[], random: Random): Message[] {
  const near = 40;
  return messages
    .flatMap((message, at) =>
      (random.happens(0.05) ? [message, message] : [message]).map((copy) => ({
        copy,
        at: at + random.next() * near,
      })),
    )
    .sort((a, b) => a.at - b.at)
    .map(({ copy }) => copy);
}
