/**
 * Many servers read `//admin` as `/admin`, so a rule about one must cover the other. Apply it after
 * dot segments are resolved: merging slashes creates no new ones.
 */
export function mergeSlashes(path: string): string {
  return path.includes('//') ? path.replace(/\/{2,}/g, '/') : path
}
