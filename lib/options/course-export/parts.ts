import * as z from 'zod';
import type { Failure } from '../../message/failure.ts';
import { platformId } from '../../message/message.ts';
import type { Platform } from '../../platform/client/client.ts';
import { failureOf } from '../../platform/client/failure-of.ts';
import { undefinedIfNotFound } from '../../platform/client/not-found.ts';
import type { Operation } from '../../platform/client/operation.ts';
import {
  getAssessment,
  getQuizAttempts,
  listQuizAttempts,
  readAssessment,
} from '../../platform/resources/assessments.ts';
import {
  getClasslistPages,
  getGroups,
  listClasslist,
  listGroups,
} from '../../platform/resources/classlists.ts';
import { getGradeObjects, listGradeObjects } from '../../platform/resources/grade-objects.ts';
import {
  getCourseImage,
  getOrgUnit,
  getOrgUnits,
  readCourseImage,
} from '../../platform/resources/org-units.ts';
import type { JobStore } from '../../runtime/jobs/store.ts';

const ids = z.array(platformId).transform((all) => [...new Set(all)]);
const word = z.string().regex(/^\w+$/, 'must be one word');

/** Additional parts of an org unit. The platform does not list them, so the request must name them. */
export const exportDetails = z.strictObject({
  groupCategoryIds: ids.default([]),
  quizIds: ids.default([]),
  /** The assessment of each user of the classlist. */
  assessments: z
    .array(
      z.strictObject({ assessmentType: word, objectType: word, objectId: platformId, rubricId: platformId }),
    )
    .default([]),
});

export type ExportDetails = z.infer<typeof exportDetails>;

const noDetails: ExportDetails = { groupCategoryIds: [], quizIds: [], assessments: [] };

/** All platform operations that an export may call. */
export const exportOperations: readonly Operation<unknown>[] = [
  getOrgUnit,
  getClasslistPages,
  getGroups,
  getGradeObjects,
  getQuizAttempts,
  getAssessment,
  getCourseImage,
  getOrgUnits,
];

export type Part = {
  /** The file's path without its ending, as in `classlists/2001`, `quiz-attempts/2001-9201`. */
  file: string;
  /** It is the org unit itself. */
  isOrgUnit: boolean;
  /** Stores it under this key plus an ending. Undefined if it does not exist. */
  store(key: string, context: PartContext): Promise<StoredPart | undefined>;
};

export type PartContext = {
  platform: Platform;
  store: JobStore;
  /** Called for an item that the platform refuses; the others are exported all the same. */
  refused(item: string, failure: Failure): void;
};

export type StoredPart = { lines: number; bytes: number };

/** Everything that is exported of an org unit, starting with the org unit itself. */
export const partsOf = (orgUnitId: number, details: ExportDetails = noDetails): Part[] => {
  type Items = (platform: Platform, refused: PartContext['refused']) => AsyncIterable<object>;
  const lines = (file: string, items: Items): Part => ({
    file,
    isOrgUnit: false,
    store: (key, { platform, store, refused }) =>
      storeLines(`${key}.jsonl`, inOrgUnit(orgUnitId, items(platform, refused)), store),
  });
  const orgUnit = lines(`org-units/${orgUnitId}`, async function* (platform) {
    yield await platform.call(getOrgUnit, { path: { orgUnitId } });
  });
  return [
    { ...orgUnit, isOrgUnit: true },
    lines(`classlists/${orgUnitId}`, (platform) => listClasslist(platform, orgUnitId)),
    lines(`grade-objects/${orgUnitId}`, (platform) => listGradeObjects(platform, orgUnitId)),
    ...details.groupCategoryIds.map((groupCategoryId) =>
      lines(`groups/${orgUnitId}-${groupCategoryId}`, async function* (platform) {
        for await (const group of listGroups(platform, { orgUnitId, groupCategoryId }))
          yield { groupCategoryId, ...group };
      }),
    ),
    ...details.quizIds.map((quizId) =>
      lines(`quiz-attempts/${orgUnitId}-${quizId}`, (platform) =>
        listQuizAttempts(platform, { orgUnitId, quizId }),
      ),
    ),
    ...details.assessments.map((query) =>
      lines(`assessments/${[orgUnitId, ...Object.values(query)].join('-')}`, (platform, refused) =>
        assessmentsOf(orgUnitId, query, { platform, refused }),
      ),
    ),
    {
      file: `course-images/${orgUnitId}`,
      isOrgUnit: false,
      store: (key, context) => storeImage(key, orgUnitId, context),
    },
  ];
};

/** If this many users are refused in a row, the query is wrong for all. */
const maxRefused = 20;

/** A user who is refused, such as one who cannot be assessed, does not stop the others. */
async function* assessmentsOf(
  orgUnitId: number,
  query: ExportDetails['assessments'][number],
  { platform, refused }: Pick<PartContext, 'platform' | 'refused'>,
): AsyncGenerator<object> {
  let inARow = 0;
  for await (const { Identifier } of listClasslist(platform, orgUnitId)) {
    const userId = Number(Identifier);
    try {
      const assessment = await undefinedIfNotFound(readAssessment(platform, orgUnitId, { ...query, userId }));
      inARow = 0;
      if (assessment !== undefined) yield { userId, ...query, assessment };
    } catch (error) {
      const failure = failureOf(error);
      inARow += 1;
      if (failure.kind !== 'rejected' || inARow >= maxRefused) throw error;
      refused(`user ${userId}`, failure);
    }
  }
}

async function* inOrgUnit(orgUnitId: number, items: AsyncIterable<object>): AsyncGenerator<object> {
  for await (const item of items) yield { orgUnitId, ...item };
}

/** Lines are joined up to this many characters. */
const pieceCharacters = 64 * 1024;

const storeLines = async (
  key: string,
  items: AsyncIterable<object>,
  store: JobStore,
): Promise<StoredPart> => {
  let lines = 0;
  const pieces = async function* () {
    let text = '';
    for await (const item of items) {
      text += `${JSON.stringify(item)}\n`;
      lines += 1;
      if (text.length < pieceCharacters) continue;
      yield Buffer.from(text);
      text = '';
    }
    yield Buffer.from(text);
  };
  const { bytes } = await store.upload(key, 'application/x-ndjson', pieces());
  return { lines, bytes };
};

const endings: Record<string, string> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'image/svg+xml': 'svg',
};

/** Many courses have no image. */
const storeImage = (key: string, orgUnitId: number, { platform, store }: PartContext) =>
  undefinedIfNotFound(
    readCourseImage(platform, orgUnitId, async ({ contentType, stream }) => {
      const known = contentType.replace(/;.*/s, '').trim().toLowerCase();
      const ending = endings[known];
      const as = ending === undefined ? 'application/octet-stream' : known;
      return { lines: 0, ...(await store.upload(`${key}.${ending ?? 'image'}`, as, stream())) };
    }),
  );
