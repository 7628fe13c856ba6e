import * as z from 'zod';
import type { Platform } from './client.ts';
import { type FilePart, filePart, multipart } from './multipart.ts';
import { operation, reading } from './operation.ts';

const getWhoAmI = reading({
  name: 'who-am-i',
  method: 'GET',
  component: 'lp',
  path: '/users/whoami',
  scope: 'users:own_profile:read',
  repeatable: true,
  answer: z.looseObject({ Identifier: z.coerce.string() }),
});

/** The user whose credential signs; `Identifier` is numeric text. */
export const whoAmI = (platform: Platform) => platform.call(getWhoAmI);

const postProfileImage = operation({
  name: 'update-profile-image',
  method: 'POST',
  component: 'lp',
  path: '/profile/user/{userId}/image',
  scope: 'core:*:*',
  repeatable: true,
});

/** Replaces a user's image. `openImage` is asked for each time that the body is sent. */
export const updateProfileImage = (
  platform: Platform,
  userId: number,
  openImage: () => Promise<Omit<FilePart, 'name'>>,
) =>
  platform.call(postProfileImage, {
    path: { userId },
    payload: async () => multipart('form-data', [filePart({ name: 'profileImage', ...(await openImage()) })]),
  });
