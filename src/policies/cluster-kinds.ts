/** Read by whoever opens the cluster of a backend; the others run for each request. */
export const CLUSTER_KINDS: ReadonlySet<string> = new Set([
  'loadBalancer',
  'healthCheck',
  'outlierDetection',
  'connectionLimits',
  'tcp',
  'backendTLS',
  'http',
])
