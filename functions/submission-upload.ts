import * as z from 'zod';
import { namedFile, openNamedFile } from '../lib/delivery/handle/fields/named-file.ts';
import { longText } from '../lib/delivery/handle/fields/text.ts';
import { handlerOf } from '../lib/delivery/handle/handler.ts';
import type { Integration, IntegrationContext } from '../lib/delivery/handle/integration.ts';
import { MessageFailure } from '../lib/message/failure.ts';
import { platformId } from '../lib/message/message.ts';
import { safe, safeMatch } from '../lib/message/safe-text.ts';
import { identityOf } from '../lib/message/version.ts';
import * as submissions from '../lib/platform/resources/submissions.ts';
import { getWhoAmI, whoAmI } from '../lib/platform/resources/users.ts';

const ids = { orgUnitId: platformId, folderId: platformId, userId: platformId };
const files = z.array(namedFile).min(1, 'must name at least one file').max(20, 'must name at most 20 files');
const data = z.strictObject({ ...ids, files, comment: longText.default('') });

type Data = z.infer<typeof data>;

const opened = ({ files }: Data, context: IntegrationContext) =>
  Promise.all(files.map((file) => openNamedFile(file, context)));

/** With another user's key in the secret, the work would be submitted in that user's name, and nothing could undo it. */
const checkWhoSigns = async ({ userId }: Data, { platform }: IntegrationContext): Promise<void> => {
  const { Identifier } = await whoAmI(platform);
  if (Identifier === String(userId)) return;
  const signer = safeMatch(Identifier, /^\d{1,16}$/);
  throw new MessageFailure(
    'missing-credential',
    safe`The secret for user ${userId} holds the credential of ${signer === undefined ? 'another user' : safe`user ${signer}`}. Nothing was sent`,
    { remedy: `Put the credential of user ${userId} into this secret, then replay.` },
  );
};

/** Submits a learner's files as that learner: signed by the learner's own credential, or not at all. */
export const integration: Integration<Data> = {
  name: 'submission-upload',
  data,
  resource: (_, message) => `submission/${identityOf(message)}`,
  changes: ['submission'],
  files: true,
  operations: [getWhoAmI, submissions.postMySubmission, submissions.getMySubmissions],
  priority: 'urgent',
  repeatable: false,
  actor: ({ userId }) => String(userId),
  run: async (submission, context) => {
    const { comment } = submission;
    await checkWhoSigns(submission, context);
    const openFiles = () => opened(submission, context);
    await submissions.uploadMySubmission(context.platform, submission, { comment, openFiles });
  },
  verify: {
    subject: ({ userId, folderId, orgUnitId }) =>
      `a submission of user ${userId} in dropbox folder ${folderId} of org unit ${orgUnitId}`,
    look: async (submission, context) => {
      await checkWhoSigns(submission, context);
      const files = await opened(submission, context);
      const sizes = files.map(({ fileName: name, file: { bytes } }) => ({ name, bytes }));
      return submissions.findMySubmission(context.platform, submission, {
        files: sizes,
        sinceMs: context.sinceMs,
      });
    },
  },
};

export const handler = handlerOf(integration);
