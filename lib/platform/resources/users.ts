import * as z from 'zod';
import type { Platform } from '../client/client.ts';
import type { Use } from '../client/download.ts';
import { filePart, multipart, type UploadedFile } from '../client/multipart.ts';
import { acknowledged, downloading, reading } from '../client/operation.ts';
import { identifier } from './paging.ts';

export const getWhoAmI = reading({
  name: 'who-am-i',
  call: 'GET /lp/users/whoami',
  scope: 'users:own_profile:read',
  answer: z.looseObject({
    Identifier: identifier,
    FirstName: z.string().nullish(),
    LastName: z.string().nullish(),
    UniqueName: z.string().nullish(),
    ProfileIdentifier: z.string().nullish(),
  }),
});

/** The user whose credential signs; `Identifier` is numeric text. */
export const whoAmI = (platform: Platform) => platform.call(getWhoAmI);

export const getProfileImage = downloading({
  name: 'read-profile-image',
  call: 'GET /lp/profile/user/{userId}/image',
  scope: 'core:*:*',
  file: /^image\//i,
});

export const readProfileImage = <Result>(platform: Platform, userId: number, use: Use<Result>) =>
  platform.download(getProfileImage, { path: { userId } }, use);

export const postProfileImage = acknowledged({
  name: 'update-profile-image',
  call: 'POST /lp/profile/user/{userId}/image',
  scope: 'core:*:*',
  // It replaces the image.
  repeatable: true,
});

/** Replaces a user's image. `openImage` is called each time that the body is sent. */
export const updateProfileImage = (
  platform: Platform,
  userId: number,
  openImage: () => Promise<UploadedFile>,
) =>
  platform.call(postProfileImage, {
    path: { userId },
    payload: async () => multipart('form-data', [filePart({ name: 'profileImage', ...(await openImage()) })]),
  });
