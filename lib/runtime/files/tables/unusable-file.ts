/** A file cannot be used as it is: another attempt does not help. The message is for people, begins with the file, and has none of its content. */
export class UnusableFile extends Error {
  override name = 'UnusableFile';
}
