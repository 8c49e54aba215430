# The same as `email-gateway ses setup`: a test compares both. See docs/ses.md.

data "aws_caller_identity" "current" {}

data "aws_region" "current" {}

data "aws_partition" "current" {}

locals {
  region  = data.aws_region.current.id
  account = data.aws_caller_identity.current.account_id
  ses     = "arn:${data.aws_partition.current.partition}:ses:${local.region}:${local.account}"
}

resource "aws_sesv2_configuration_set" "gateway" {
  configuration_set_name = var.name
}

resource "aws_sns_topic" "events" {
  name              = "${var.name}-events"
  signature_version = 2
}

data "aws_iam_policy_document" "events" {
  statement {
    sid       = "EmailGatewaySesPublish"
    effect    = "Allow"
    actions   = ["sns:Publish"]
    resources = [aws_sns_topic.events.arn]

    principals {
      type        = "Service"
      identifiers = ["ses.amazonaws.com"]
    }

    condition {
      test     = "StringEquals"
      variable = "AWS:SourceAccount"
      values   = [local.account]
    }

    condition {
      test     = "StringEquals"
      variable = "AWS:SourceArn"
      values   = ["${local.ses}:configuration-set/${var.name}"]
    }
  }
}

resource "aws_sns_topic_policy" "events" {
  arn    = aws_sns_topic.events.arn
  policy = data.aws_iam_policy_document.events.json
}

resource "aws_sesv2_configuration_set_event_destination" "gateway" {
  configuration_set_name = aws_sesv2_configuration_set.gateway.configuration_set_name
  event_destination_name = var.name

  event_destination {
    enabled = true
    matching_event_types = [
      "SEND",
      "DELIVERY",
      "BOUNCE",
      "COMPLAINT",
      "REJECT",
      "DELIVERY_DELAY",
      "RENDERING_FAILURE",
    ]

    sns_destination {
      topic_arn = aws_sns_topic.events.arn
    }
  }

  depends_on = [aws_sns_topic_policy.events]
}

# The gateway confirms it, if SNS_TOPIC_ARNS names the topic by then.
resource "aws_sns_topic_subscription" "gateway" {
  topic_arn              = aws_sns_topic.events.arn
  protocol               = "https"
  endpoint               = "${var.url}/webhooks/ses"
  endpoint_auto_confirms = true
}
