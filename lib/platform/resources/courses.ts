import type { Platform } from '../client/client.ts';
import type { Use } from '../client/download.ts';
import { downloading } from '../client/operation.ts';

export const getCourseImage = downloading({
  name: 'read-course-image',
  method: 'GET',
  component: 'lp',
  path: '/courses/{orgUnitId}/image',
  scope: 'organizations:image:read',
  repeatable: true,
  // Its answer is not documented, and files that were uploaded are often served without their type.
  file: /^(image\/|application\/octet-stream\b)/i,
});

export const readCourseImage = <Result>(platform: Platform, orgUnitId: number, use: Use<Result>) =>
  platform.download(getCourseImage, { path: { orgUnitId } }, use);
