import * as z from 'zod';
import { contentType, fileUri } from '../lib/delivery/handle/fields/named-file.ts';
import { handlerOf } from '../lib/delivery/handle/handler.ts';
import type { Integration } from '../lib/delivery/handle/integration.ts';
import { MessageFailure } from '../lib/message/failure.ts';
import { platformId } from '../lib/message/message.ts';
import { safe } from '../lib/message/safe-text.ts';
import { postProfileImage, updateProfileImage } from '../lib/platform/resources/users.ts';
import { sniffImage } from '../lib/runtime/files/files.ts';

const data = z.strictObject({ userId: platformId, file: z.strictObject({ uri: fileUri, contentType }) });

/** Replaces a user's profile image with a PNG, JPEG or GIF. The file's bytes decide the type, not the message. */
export const integration: Integration<z.infer<typeof data>> = {
  name: 'profile-image-update',
  data,
  resource: ({ userId }) => `profile-image/${userId}`,
  changes: ['profile-image'],
  files: true,
  operations: [postProfileImage],
  repeatable: true,
  run: ({ userId, file }, { platform, openFile, limits }) =>
    updateProfileImage(platform, userId, async () => {
      const image = await sniffImage(await openFile(file.uri, limits.profileImageBytes));
      if (!image)
        throw new MessageFailure('invalid', safe`data.file: its content is not a PNG, JPEG or GIF image`);
      return { ...image, fileName: `profile-image.${image.contentType.replace('image/', '')}` };
    }),
};

export const handler = handlerOf(integration);
