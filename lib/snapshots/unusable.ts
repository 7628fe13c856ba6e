import { UnusableFile } from '../sets/unusable-file.ts';

/** Of a snapshot that cannot be imported as it is, whoever tries. Its message is for people, and holds no content of a file. */
export class UnusableSnapshot extends UnusableFile {
  override name = 'UnusableSnapshot';
}
