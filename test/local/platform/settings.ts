import { exactly, id, oneOf, optional } from './http/bind.ts';

/**
 * How the platform behaves where deployments differ: the length of a page, whether the demographics field that is
 * known to fail does, and who is signed in when the token entry path is opened in a browser.
 */
type Settings = { pageSize: number; demographicsFields: 'fail' | 'create'; signedInUserId: number };

export const defaultSettings: Settings = { pageSize: 100, demographicsFields: 'fail', signedInUserId: 100 };

const shape = exactly({
  pageSize: optional(id),
  demographicsFields: optional(oneOf('fail', 'create')),
  signedInUserId: optional(id),
});

export function changeSettings(settings: Settings, changes: unknown): Settings {
  const { pageSize, demographicsFields, signedInUserId } = shape(changes, '');
  settings.pageSize = pageSize ?? settings.pageSize;
  settings.demographicsFields = demographicsFields ?? settings.demographicsFields;
  settings.signedInUserId = signedInUserId ?? settings.signedInUserId;
  return settings;
}
