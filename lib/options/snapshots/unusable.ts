import { UnusableFile } from '../../runtime/files/tables/unusable-file.ts';

/**
 * A snapshot that cannot be imported as it is: another attempt does not help. The message is for people, and holds no content of a
 * file.
 */
export class UnusableSnapshot extends UnusableFile {
  override name = 'UnusableSnapshot';
}
