/** Keys that were generated on this page, by their hashes. They are never stored. */
export const newKeys = new Map<string, string>()
