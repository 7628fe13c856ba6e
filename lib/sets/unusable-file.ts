/** A file cannot be used as it is, and another attempt does not help. Its message is for people, and has no content of the file but its names. */
export class UnusableFile extends Error {
  override name = 'UnusableFile';
}
