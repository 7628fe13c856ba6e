import * as z from 'zod';
import type { Platform } from '../client/client.ts';
import type { Use } from '../client/download.ts';
import { filePart, multipart, type UploadedFile } from '../client/multipart.ts';
import { acknowledged, downloading, reading } from '../client/operation.ts';
import { identifier } from './paging.ts';

export const getWhoAmI = reading({
  name: 'who-am-i',
  method: 'GET',
  component: 'lp',
  path: '/users/whoami',
  scope: 'users:own_profile:read',
  repeatable: true,
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

const profileImage = { component: 'lp', path: '/profile/user/{userId}/image', scope: 'core:*:*' } as const;

export const getProfileImage = downloading({
  ...profileImage,
  name: 'read-profile-image',
  method: 'GET',
  repeatable: true,
  file: /^image\//i,
});

export const readProfileImage = <Result>(platform: Platform, userId: number, use: Use<Result>) =>
  platform.download(getProfileImage, { path: { userId } }, use);

export const postProfileImage = acknowledged({
  ...profileImage,
  name: 'update-profile-image',
  method: 'POST',
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
