import { maskSensitive } from '../platform/text/masking.ts'

/** Why a call of AWS failed, in terms of what an operator can do about it. */
type AwsProblem = 'denied' | 'credentials' | 'unreachable' | 'refused'

export class AwsCallFailed extends Error {
  override name = 'AwsCallFailed'
  readonly problem: AwsProblem
  /** The IAM action, such as ses:CreateConfigurationSet. */
  readonly action: string

  constructor(problem: AwsProblem, action: string, message: string) {
    super(message)
    this.problem = problem
    this.action = action
  }
}

export type AwsOptions = { region: string; sesEndpoint?: string | undefined; snsEndpoint?: string | undefined }

const CALL_MS = 15_000
/** Two repeats for throttling: AWS allows one call a second for some of these. */
export const AWS_CLIENT = { maxAttempts: 3, requestHandler: { connectionTimeout: 5_000, requestTimeout: CALL_MS } }

/** null: AWS has no such resource. Every other failure is an AwsCallFailed that names the IAM action. */
export async function orNull<Output>(action: string, call: () => Promise<Output>): Promise<Output | null> {
  try {
    return await named(action, call)
  } catch (error) {
    if (isNotFound((error as Error).cause)) return null
    throw error
  }
}

export async function named<Output>(action: string, call: () => Promise<Output>): Promise<Output> {
  try {
    return await call()
  } catch (error) {
    throw failureOf(action, error as Error)
  }
}

export const withinTime = () => ({ abortSignal: AbortSignal.timeout(CALL_MS * 2) })

type SdkError = Error & { $metadata?: { httpStatusCode?: number }; code?: string }

const isNotFound = (error: unknown) =>
  error instanceof Error && ['NotFoundException', 'NotFound', 'ResourceNotFoundException'].includes(error.name)

const DENIED = /^(AccessDenied(Exception)?|AuthorizationError(Exception)?|UnauthorizedOperation)$/
const BAD_CREDENTIALS =
  /^(CredentialsProviderError|UnrecognizedClientException|InvalidClientTokenId|InvalidClientTokenIdException|SignatureDoesNotMatch|InvalidSignatureException|ExpiredToken(Exception)?|MissingAuthenticationTokenException|IncompleteSignature(Exception)?|InvalidAccessKeyId)$/

function failureOf(action: string, error: SdkError): AwsCallFailed {
  const text = maskSensitive(`${error.message || error.name}`.slice(0, 500))
  return Object.assign(new AwsCallFailed(problemOf(error), action, text), { cause: error })
}

function problemOf({ name, $metadata }: SdkError): AwsProblem {
  if (DENIED.test(name)) return 'denied'
  if (BAD_CREDENTIALS.test(name)) return 'credentials'
  // Without an answer there is no status.
  return $metadata?.httpStatusCode === undefined ? 'unreachable' : 'refused'
}
