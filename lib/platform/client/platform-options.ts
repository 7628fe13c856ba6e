import type { MessageSettings } from '../../runtime/aws/settings.ts';
import type { PlatformOptions } from './client.ts';

export const platformOptionsOf = ({
  lpVersion: lp,
  leVersion: le,
  ...settings
}: MessageSettings['platform']): PlatformOptions => ({ ...settings, versions: { lp, le } });
