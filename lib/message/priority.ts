/** Which calls go first where not all can go at once. */
export type Priority = 'urgent' | 'normal' | 'bulk';
