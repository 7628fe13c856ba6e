/** Decides which calls go first if not all can go at once. */
export type Priority = 'urgent' | 'normal' | 'bulk';
