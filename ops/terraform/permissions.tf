# For the role or user of the gateway: attach it with aws_iam_role_policy_attachment.

data "aws_iam_policy_document" "gateway" {
  statement {
    sid       = "Send"
    actions   = ["ses:SendEmail", "ses:SendRawEmail"]
    resources = ["${local.ses}:identity/*", "${local.ses}:configuration-set/${var.name}"]
  }

  statement {
    sid       = "Account"
    actions   = ["ses:GetAccount", "sns:ListTopics"]
    resources = ["*"]
  }

  statement {
    sid       = "Confirm"
    actions   = ["sns:ConfirmSubscription"]
    resources = [aws_sns_topic.events.arn]
  }

  statement {
    sid = "SetUpEvents"
    actions = [
      "ses:GetConfigurationSet",
      "ses:CreateConfigurationSet",
      "ses:GetConfigurationSetEventDestinations",
      "ses:CreateConfigurationSetEventDestination",
      "ses:UpdateConfigurationSetEventDestination",
    ]
    resources = ["${local.ses}:configuration-set/${var.name}"]
  }

  statement {
    sid = "SetUpTopic"
    actions = [
      "sns:CreateTopic",
      "sns:GetTopicAttributes",
      "sns:SetTopicAttributes",
      "sns:ListSubscriptionsByTopic",
      "sns:Subscribe",
    ]
    resources = [aws_sns_topic.events.arn]
  }

  statement {
    sid = "Domains"
    actions = [
      "ses:CreateEmailIdentity",
      "ses:GetEmailIdentity",
      "ses:PutEmailIdentityMailFromAttributes",
      "ses:DeleteEmailIdentity",
    ]
    resources = ["${local.ses}:identity/*"]
  }
}

resource "aws_iam_policy" "gateway" {
  name   = var.name
  policy = data.aws_iam_policy_document.gateway.json
}
