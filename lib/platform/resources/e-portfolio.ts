import * as z from 'zod';
import type { Platform } from '../client/client.ts';
import { acknowledged, reading } from '../client/operation.ts';

// Paths, scope and shape of these objects are not documented. These are defaults that the configuration overrides.
const family = { defaultVersion: '2.5', scope: 'core:*:*' } as const;

export const postEPortfolioObject = acknowledged({
  ...family,
  name: 'create-e-portfolio-object',
  call: 'POST /eP/object/',
  // Each call creates one more.
  repeatable: false,
});

/** Creates an ePortfolio object of the user who signs. The form of the answer is not known, so its id is not read. */
export const createEPortfolioObject = (platform: Platform, content: Record<string, unknown>) =>
  platform.call(postEPortfolioObject, { json: content });

export const getEPortfolioObject = reading({
  ...family,
  name: 'read-e-portfolio-object',
  call: 'GET /eP/object/{objectId}',
  answer: z.looseObject({}),
});

/** With its geotag metadata, in the platform's form. */
export const readEPortfolioObject = (platform: Platform, objectId: number) =>
  platform.call(getEPortfolioObject, { path: { objectId } });

export const putEPortfolioObject = acknowledged({
  ...family,
  name: 'update-e-portfolio-object',
  call: 'PUT /eP/object/{objectId}',
  repeatable: true,
});

/** Replaces an ePortfolio object. Send geotag metadata back as it was read: it is not known what fills it in. */
export const updateEPortfolioObject = (
  platform: Platform,
  objectId: number,
  content: Record<string, unknown>,
) => platform.call(putEPortfolioObject, { path: { objectId }, json: content });
