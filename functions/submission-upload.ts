import * as z from 'zod';
import { MessageFailure } from '../lib/failure.ts';
import { handlerOf, type Integration } from '../lib/integration.ts';
import { contentType, fileUri, platformId } from '../lib/message.ts';
import { uploadMySubmission } from '../lib/platform/submissions.ts';
import { whoAmI } from '../lib/platform/users.ts';

const data = z.strictObject({
  orgUnitId: platformId,
  folderId: platformId,
  userId: platformId,
  files: z
    .array(z.strictObject({ uri: fileUri, name: z.string().min(1).max(255), contentType }))
    .min(1, 'must name at least one file')
    .max(20, 'must name at most 20 files'),
  comment: z.string().optional(),
});

/** Hands in a learner's files as that learner: signed by the learner's own credential, or not at all. */
export const integration: Integration<z.infer<typeof data>> = {
  name: 'submission-upload',
  data,
  key: (_, { source, id }) => `${source} ${id}`,
  repeatable: false,
  actor: ({ userId }) => String(userId),
  run: async ({ orgUnitId, folderId, userId, files, comment = '' }, { platform, openFile, limits }) => {
    // A secret that holds somebody else's key would hand the work in under that name, and nothing could undo it.
    const { Identifier } = await whoAmI(platform);
    if (Identifier !== String(userId))
      throw new MessageFailure(
        'missing-credential',
        `The secret for user ${userId} holds the credential of user ${Identifier}: nothing was sent`,
        { remedy: `Put the credential of user ${userId} itself into that secret, then replay.` },
      );
    const openFiles = () =>
      Promise.all(
        files.map(async ({ uri, name, contentType: type }) => ({
          fileName: name,
          contentType: type,
          file: await openFile(uri, limits.fileBytes),
        })),
      );
    await uploadMySubmission(platform, { orgUnitId, folderId }, { comment, openFiles });
  },
};

export const handler = handlerOf(integration);
