import type { Platform } from '../client/client.ts';
import { acknowledged } from '../client/operation.ts';
import type { TextContent } from '../client/rich-text.ts';

/** Data that every platform can send to the tool. */
export const sendFlags = [
  'SendTcInfo',
  'SendContextInfo',
  'SendUserId',
  'SendUserName',
  'SendUserEmail',
  'SendLinkTitle',
  'SendLinkDescription',
] as const;

/**
 * A whole link: the platform refuses one without any of these fields. There are three more `Send…` flags, which are named after
 * the platform's vendor.
 */
export type LtiLink = {
  Title: string;
  Url: string;
  Description: string | TextContent | null;
  Key: string;
  PlainSecret: string;
  IsVisible: boolean;
  SignMessage: boolean;
  SignWithTc: boolean;
  UseToolProviderSecuritySettings: boolean;
  CustomParameters: { Name: string; Value: string }[] | null;
} & Record<(typeof sendFlags)[number] | `Send${string}`, boolean>;

export const putLtiLink = acknowledged({
  name: 'update-lti-link',
  call: 'PUT /le/lti/link/{linkId}',
  scope: 'lti:links:update',
  repeatable: true,
});

/** Replaces a link's settings. Its key and its secret are removed from errors, even where the platform repeats them. */
export const updateLtiLink = (platform: Platform, linkId: number, link: LtiLink) =>
  platform.call(putLtiLink, { path: { linkId }, json: link, secrets: [link.Key, link.PlainSecret] });
