/** The page with all settings of a resource, below `/ui/`. */
export function editPath(kind: string, id: string): string {
  return `edit/${encodeURIComponent(kind)}/${encodeURIComponent(id)}`
}

/** The page with the rules of a resource. */
export function rulesPath(kind: string, id: string): string {
  return `policies/${encodeURIComponent(kind)}/${encodeURIComponent(id)}`
}
