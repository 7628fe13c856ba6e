import type { Platform } from './client.ts';
import { operation } from './operation.ts';
import type { TextContent } from './rich-text.ts';

/** A whole link: the platform takes none of which a field is missing. What the tool is sent is told by `Send…` flags. */
export type LtiLink = {
  Title: string;
  Url: string;
  Description: string | TextContent | null;
  Key: string;
  PlainSecret: string;
  IsVisible: boolean;
  SignMessage: boolean;
  SignWithTc: boolean;
  CustomParameters: { Name: string; Value: string }[] | null;
  [flag: `Send${string}`]: boolean;
};

export const putLtiLink = operation({
  name: 'update-lti-link',
  method: 'PUT',
  component: 'le',
  path: '/lti/link/{linkId}',
  scope: 'lti:links:update',
  repeatable: true,
});

/** Replaces a link's settings. Its secret is in no error, even where the platform repeats it. */
export const updateLtiLink = (platform: Platform, linkId: number, link: LtiLink) =>
  platform.call(putLtiLink, { path: { linkId }, json: link, secrets: [link.PlainSecret] });
