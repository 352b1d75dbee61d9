/**
 * Many servers read `//admin` as `/admin`; a rule about the one must decide about the other. To be
 * applied to a path whose dot segments are resolved: merging makes no new ones.
 */
export function mergeSlashes(path: string): string {
  return path.includes('//') ? path.replace(/\/{2,}/g, '/') : path
}
