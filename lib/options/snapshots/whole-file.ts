import { join } from 'node:path';
import { inFolder } from '../../runtime/files/folder.ts';
import { UnusableFile } from '../../runtime/files/tables/unusable-file.ts';
import { feedOf, isTable } from './feed.ts';
import { fileNames } from './package/manifest.ts';
import { mappingFor } from './package/mapping-file.ts';
import { openExport } from './package/oneroster-export.ts';
import { snapshotSettings } from './package/settings-file.ts';
import type { SnapshotServices } from './snapshot-services.ts';
import { lastAccepted } from './state/accepted-snapshot.ts';
import type { SourceFile } from './state/store.ts';

/** Whether a file states everything of its feed, as far as is known before it is compared. */
export const isWholeFile = (
  dropped: SourceFile,
  { store, integrations }: Pick<SnapshotServices, 'store' | 'integrations'>,
): Promise<boolean> =>
  inFolder(async (folder) => {
    const feed = feedOf(dropped);
    try {
      if (isTable(dropped.key)) {
        // Which functions a mapping may name is judged by the comparison.
        const functions = [...integrations.keys(), ...snapshotSettings.parse({}).functions];
        return !(await mappingFor(feed, { store, integrations, functions })).isDelta;
      }
      const path = join(folder, 'file');
      if ((await store.download(dropped, path)) === undefined) return false;
      const opened = await openExport(path, folder);
      await opened.close();
      const before = Object.keys((await lastAccepted(store, feed))?.columns ?? {});
      const { modes } = opened;
      return fileNames.every(
        (name) => modes[name] === 'bulk' || (modes[name] === 'absent' && !before.includes(name)),
      );
    } catch (error) {
      if (error instanceof UnusableFile) return false;
      throw error;
    }
  });
